// A node that has started and waits for one program. Its input begins with a request: a length (four bytes, little-endian),
// then texts, each ended by a zero byte: path, folder, number of variables, variables. What follows is the program's own input.
// Descriptor 3 is told when it waits.
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

// What every program needs, and node makes only when it is asked for.
process.stdout;
process.stderr;
require('node:util').format('%s', {});
new Module('warm', null)._compile('', 'warm.js');

fs.writeSync(3, 'ready\n');
fs.closeSync(3);

// No byte more than the request: what comes after it must stay in the pipe.
function read(length) {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; ) {
    const count = fs.readSync(0, bytes, at, length - at);
    if (count === 0) process.exit(0);
    at += count;
  }
  return bytes;
}

const [source, folder, count, ...variables] = read(read(4).readUInt32LE()).toString().split('\0');
for (const name of Object.keys(process.env)) delete process.env[name];
for (const pair of variables.slice(0, Number(count))) {
  const end = pair.indexOf('=');
  process.env[pair.slice(0, end)] = pair.slice(end + 1);
}
process.chdir(folder);
process.argv.length = 1;
process.argv.push(source);

let code = fs.readFileSync(source, 'utf8');
if (source.endsWith('.ts')) {
  if (!Module.stripTypeScriptTypes) {
    console.error(`TypeScript needs Node.js 22.13 or newer; this is ${process.version}`);
    process.exit(1);
  }
  code = Module.stripTypeScriptTypes(code, { mode: 'transform' });
}

// As if it lay in its folder: that is where `require` and `import` look first.
const name = path.join(process.cwd(), '[code].js');
const main = new Module('.', null);
main.filename = name;
main.paths = Module._nodeModulePaths(process.cwd());
process.mainModule = main;
require.cache[name] = main;
const ONLY_IN_MODULES =
  /Cannot use import statement outside a module|Unexpected token 'export'|await is only valid|Cannot use 'import\.meta'/;
function isModule(error) {
  // Newer ones run modules here, unless they wait.
  if (error?.code === 'ERR_REQUIRE_ASYNC_MODULE') return true;
  return error instanceof SyntaxError && ONLY_IN_MODULES.test(error.message);
}
try {
  main._compile(code, name);
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
