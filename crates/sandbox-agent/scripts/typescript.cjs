// Stands before both of node's scripts. JavaScript, with a map at its end, for a file with TypeScript; nothing where that is
// wrong, which has been said by then.
function compiled(source) {
  const options = { encoding: 'utf8', env: {}, maxBuffer: Infinity, stdio: ['ignore', 'pipe', 'inherit'] };
  const done = require('node:child_process').spawnSync('/.hearth/typescript', [source, '[code].ts'], options);
  if (done.signal) console.error(`[code].ts: cannot be compiled (${done.signal}): is it nested very deeply?`);
  if (done.error) console.error(`[code].ts: cannot be compiled: ${done.error.message}`);
  return done.status === 0 ? done.stdout : undefined;
}

