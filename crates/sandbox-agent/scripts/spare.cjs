// A node that has started and waits for one program. Its input begins with a request: a length (four bytes, little-endian),
// then texts, each ended by a zero byte: path, folder, number of variables, variables. What follows is the program's own input.
// Descriptor 3 is closed when it waits.
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

// No byte more than the request: what comes after it must stay in the pipe.
function read(from, length) {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; ) {
    const count = fs.readSync(from, bytes, at, length - at);
    if (count === 0) process.exit(0);
    at += count;
  }
  return bytes;
}

// Takes over a request's folder and variables. Gives the path of its source.
function enter(request) {
  const [source, folder, count, ...variables] = request.toString().split('\0');
  const wanted = new Map();
  for (const pair of variables.slice(0, Number(count))) {
    const end = pair.indexOf('=');
    wanted.set(pair.slice(0, end), pair.slice(end + 1));
  }
  for (const name of Object.keys(process.env)) if (!wanted.has(name)) delete process.env[name];
  for (const [name, value] of wanted) if (process.env[name] !== value) process.env[name] = value;
  process.chdir(folder);
  return source;
}

// A module as if it lay in its folder: that is where `require` and `import` look first.
function moduleIn(folder) {
  const made = new Module('.', null);
  made.filename = path.join(folder, '[code].js');
  made.paths = Module._nodeModulePaths(folder);
  return made;
}

// What is done for the first time takes many times as long. So all that comes before a program's first output is done now,
// for a program that prints nothing.
function warm() {
  const zeros = fs.openSync('/dev/zero');
  read(zeros, read(zeros, 4).readUInt32LE());
  fs.closeSync(zeros);
  const variables = Object.entries(process.env).map(([name, value]) => `${name}=${value}`);
  enter(Buffer.from(['', '/', variables.length, ...variables, ''].join('\0')));
  process.stdout.write = process.stderr.write = () => true;
  const code = `${fs.readFileSync('/dev/null', 'utf8')}console.log('%s', {}); console.error(0)`;
  moduleIn('/')._compile(code, 'warm.js');
  delete process.stdout.write;
  delete process.stderr.write;
  process.stdout.write('');
}

warm();
fs.closeSync(3);
const source = enter(read(0, read(0, 4).readUInt32LE()));
process.argv.length = 1;
process.argv.push(source);

const isTyped = source.endsWith('.ts');
const code = isTyped ? compiled(source) : fs.readFileSync(source, 'utf8');
if (code === undefined) process.exit(1);
// For the map.
if (isTyped) process.setSourceMapsEnabled(true);

const main = moduleIn(process.cwd());
process.mainModule = main;
require.cache[main.filename] = main;
const ONLY_IN_MODULES =
  /Cannot use import statement outside a module|Unexpected token 'export'|await is only valid|Cannot use 'import\.meta'/;
function isModule(error) {
  // Newer ones run modules here, unless they wait.
  if (error?.code === 'ERR_REQUIRE_ASYNC_MODULE') return true;
  return error instanceof SyntaxError && ONLY_IN_MODULES.test(error.message);
}
try {
  main._compile(code, main.filename);
} catch (error) {
  if (!isModule(error)) throw error;
  // A file is the only way to a module that can import by name.
  let file = path.join(process.cwd(), `.hearth-${process.pid}.mjs`);
  try {
    fs.writeFileSync(file, code);
  } catch {
    file = path.join(path.dirname(source), 'main.mjs');
    fs.writeFileSync(file, code);
  }
  const remove = () => fs.rmSync(file, { force: true });
  process.once('exit', remove);
  import(pathToFileURL(file)).then(remove);
}
