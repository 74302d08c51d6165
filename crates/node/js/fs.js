"use strict";
// node:fs (https://nodejs.org/api/fs.html). There are two places: the app's folder, as `/`, for reading alone (what is written
// there fails with EROFS, environment files cannot be read), and /tmp, in the worker's memory.
//
// Deviations: functions with callbacks and promises do their work before they return, in pieces of at most 1 MiB, and answer
// later; /tmp hides a folder `tmp` of the app's; there is one user, so that modes and owners are kept or checked, and have
// no effect; watching throws; 1 and 2 are the log.

const { validateFunction } = require("internal/validators");
const { codes } = require("internal/errors");
const constants = require("internal/fs/constants");
const { Dir, opendir } = require("internal/fs/dir");
const { isSystemError } = require("internal/fs/errors");
const { Dirent, Stats } = require("internal/fs/stats");
const sync = require("internal/fs/sync");
const tree = require("internal/fs/tree");
const { unavailable } = require("internal/fs/unavailable");

const fs = { Dir, Dirent, Stats, constants };
const { F_OK, R_OK, W_OK, X_OK } = constants;
Object.assign(fs, { F_OK, R_OK, W_OK, X_OK });

/** Of errors that are of the arguments callbacks never hear: they are thrown. */
function outcome(run, values) {
  try {
    return [null, run(...values)];
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return [error];
  }
}

/** The last argument that is a function. */
function takeCallback(values) {
  const callback = values.at(-1);
  if (typeof callback !== "function") throw new codes.ERR_INVALID_ARG_TYPE("cb", "Function", callback);
  values.pop();
  return callback;
}

function define(name, run, extra = undefined) {
  fs[`${name}Sync`] = { [`${name}Sync`](...values) { return run(...values); } }[`${name}Sync`];
  fs[name] = { [name](...values) {
    const callback = takeCallback(values);
    const [error, value] = outcome(run, values);
    setImmediate(() => {
      if (error !== null) callback(error);
      else if (extra !== undefined) callback(null, value, extra(values));
      else if (value === undefined) callback(null);
      else callback(null, value);
    });
  } }[name];
}

const buffer = (values) => values[1];
for (const [name, run] of Object.entries({ ...sync, ...tree, opendir })) {
  if (name !== "exists" && name !== "close") define(name, run, /^(read|write)v?$/.test(name) ? buffer : undefined);
}
fs.realpath.native = fs.realpath;
fs.realpathSync.native = fs.realpathSync;

fs.read = function read(fd, into, ...values) {
  // read(fd, callback) and read(fd, options, callback) bring a buffer of their own.
  if (typeof into === "function") return fs.read(fd, {}, into);
  if (!ArrayBuffer.isView(into)) {
    const own = into?.buffer ?? require("buffer").Buffer.alloc(16384);
    const { offset = 0, length = own.byteLength - offset, position = null } = into ?? {};
    return fs.read(fd, own, offset, length, position, ...values);
  }
  const callback = takeCallback(values);
  const [error, count] = outcome(sync.read, [fd, into, ...values]);
  return void setImmediate(() => callback(error, count ?? 0, into));
};

fs.closeSync = function closeSync(fd) { return sync.close(fd); };
fs.close = function close(fd, callback = undefined) {
  if (callback !== undefined) validateFunction(callback, "cb");
  const [error] = outcome(sync.close, [fd]);
  if (callback !== undefined) setImmediate(() => callback(error));
  else if (error !== null) throw error;
};

fs.existsSync = function existsSync(path) { return sync.exists(path); };
fs.exists = function exists(path, callback) {
  validateFunction(callback, "cb");
  const found = sync.exists(path);
  setImmediate(() => callback(found));
};
Object.defineProperty(fs.exists, Symbol.for("nodejs.util.promisify.custom"), {
  __proto__: null, value: (path) => Promise.resolve(sync.exists(path)),
});
for (const [name, count, data] of [["read", "bytesRead", "buffer"], ["write", "bytesWritten", "buffer"], ["readv", "bytesRead", "buffers"], ["writev", "bytesWritten", "buffers"]]) {
  const run = fs[name];
  Object.defineProperty(run, Symbol.for("nodejs.util.promisify.custom"), {
    __proto__: null,
    value: (...values) => new Promise((resolve, reject) => {
      run(...values, (error, total, bytes) => (error ? reject(error) : resolve({ [count]: total, [data]: bytes })));
    }),
  });
}

fs.globSync = function globSync(patterns, options = undefined) { return [...require("internal/fs/glob").glob(patterns, options)]; };
fs.glob = function glob(patterns, options, callback = undefined) {
  if (typeof options === "function") [options, callback] = [undefined, options];
  validateFunction(callback, "cb");
  const [error, found] = outcome(fs.globSync, [patterns, options]);
  setImmediate(() => callback(error, found));
};

fs.openAsBlob = async function openAsBlob(path, options = undefined) { return new Blob([sync.readFile(path)], { type: options?.type }); };

for (const name of ["watch", "watchFile"]) fs[name] = { [name]() { throw unavailable(name); } }[name];
fs.unwatchFile = function unwatchFile() {};

fs.createReadStream = function createReadStream(path, options = undefined) { return new fs.ReadStream(path, options); };
fs.createWriteStream = function createWriteStream(path, options = undefined) { return new fs.WriteStream(path, options); };

/** Made when they are first asked for; an app may replace them, as graceful-fs does. */
function defineLazily(name, load) {
  const define = (value) => Object.defineProperty(fs, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  Object.defineProperty(fs, name, {
    __proto__: null, enumerable: true, configurable: true,
    get() { return define(load())[name]; },
    set(value) { define(value); },
  });
}
for (const name of ["ReadStream", "WriteStream"]) {
  defineLazily(name, () => require("internal/fs/streams")[name]);
  defineLazily(`File${name}`, () => require("internal/fs/streams")[name]);
}
defineLazily("promises", () => require("fs/promises"));

module.exports = fs;
