// A node that keeps its variables between runs. Requests come over descriptor 3, each text ended by a zero byte: path,
// folder, number of variables, variables. Each is answered by its status and a newline. Runs are evaluated as in node's own
// prompt: declarations stay, `await` works outside of functions. TypeScript is turned into JavaScript before.
const fs = require('node:fs');
const { SourceMap } = require('node:module');
const net = require('node:net');
const repl = require('node:repl');
const { PassThrough, Writable } = require('node:stream');

const control = new net.Socket({ fd: 3 });
// What the prompt itself prints: nothing but uncaught errors. Such an error ends its run.
const output = new Writable({
  write(chunk, _, written) {
    if (!chunk.length) return written();
    process.stderr.write(inSource(chunk.toString()), written);
    if (chunk.toString().startsWith('Uncaught')) setImmediate(answer, 1);
  },
});
const prompt = repl.start({ prompt: '', input: new PassThrough(), output, useGlobal: true, terminal: false, breakEvalOnSigint: true });

let waiting = [];
let rest = Buffer.alloc(0);
let isRunning = false;
// Which run it is: what one that was interrupted says later is about no other.
let turn = 0;

// Where the code of TypeScript came from, by the name under which it was run.
const maps = new Map();

function inSource(text) {
  return text.replace(/(\[code \d+\]\.ts):(\d+):(\d+)/g, (place, name, line, column) => {
    const { originalLine, originalColumn } = maps.get(name)?.findEntry(line - 1, column - 1) ?? {};
    return originalLine === undefined ? place : `[code].ts:${originalLine + 1}:${originalColumn + 1}`;
  });
}

// What is to be evaluated, and under which name.
function load(source) {
  if (!source.endsWith('.ts')) return [`${fs.readFileSync(source, 'utf8')}\n`, '[code]'];
  const script = compiled(source);
  if (script === undefined) return [];
  const name = `[code ${maps.size + 1}].ts`;
  const [code, map] = script.split('\n//# sourceMappingURL=data:application/json;charset=utf-8;base64,');
  maps.set(name, map && new SourceMap(JSON.parse(Buffer.from(map, 'base64').toString())));
  return [`${code}\n`, name];
}

function answer(status) {
  if (!isRunning) return;
  isRunning = false;
  control.write(`${status}\n`);
  next();
}

function next() {
  if (isRunning || waiting.length < 3 || waiting.length < 3 + Number(waiting[2])) return;
  const [source, folder, count] = waiting;
  const variables = waiting.slice(3, 3 + Number(count));
  waiting = waiting.slice(3 + Number(count));
  isRunning = true;
  const own = ++turn;
  for (const pair of variables) {
    const end = pair.indexOf('=');
    process.env[pair.slice(0, end)] = pair.slice(end + 1);
  }
  const done = (error) => {
    if (own !== turn || !isRunning) return;
    // The prompt would ask for more where a text is not whole.
    const told = error && (error.err?.stack ?? error.stack ?? error);
    if (error) console.error(typeof told === 'string' ? inSource(told) : told);
    answer(error ? 1 : 0);
  };
  try {
    if (folder) process.chdir(folder);
    const [code, name] = load(source);
    if (code === undefined) return answer(1);
    evaluate(code, name, done);
  } catch (error) {
    done(error);
  }
}

// What waits is ended here; what computes, by the prompt itself (`breakEvalOnSigint`), which must be alone with the signal then.
function interrupted() {
  if (!isRunning) return;
  console.error('interrupted by SIGINT');
  answer(130);
}

function evaluate(code, name, done) {
  process.removeListener('SIGINT', interrupted);
  try {
    prompt.eval(code, prompt.context, name, done);
  } finally {
    if (!process.listeners('SIGINT').includes(interrupted)) process.on('SIGINT', interrupted);
  }
}
process.on('SIGINT', interrupted);
control.on('data', (data) => {
  rest = Buffer.concat([rest, data]);
  for (let end; (end = rest.indexOf(0)) >= 0; rest = rest.subarray(end + 1)) waiting.push(rest.toString('utf8', 0, end));
  next();
});
control.on('close', () => process.exit(0));
