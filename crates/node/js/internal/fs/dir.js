"use strict";
// fs.Dir (https://nodejs.org/api/fs.html#class-fsdir): the entries of a folder, as they were when it was opened.

const { codes } = require("internal/errors");
const { validateFunction } = require("internal/validators");

class Dir {
  #path;
  #entries;
  #next = 0;
  #closed = false;

  constructor(path, entries) {
    this.#path = path;
    this.#entries = entries;
  }

  get path() { return this.#path; }

  readSync() {
    if (this.#closed) throw new codes.ERR_DIR_CLOSED();
    return this.#entries[this.#next++] ?? null;
  }

  closeSync() {
    if (this.#closed) throw new codes.ERR_DIR_CLOSED();
    this.#closed = true;
  }

  read(callback = undefined) { return settle(callback, () => this.readSync()); }
  close(callback = undefined) { return settle(callback, () => this.closeSync()); }

  async *entries() {
    try {
      for (let entry = this.readSync(); entry !== null; entry = this.readSync()) yield entry;
    } finally {
      if (!this.#closed) this.closeSync();
    }
  }

  [Symbol.dispose]() { if (!this.#closed) this.closeSync(); }
  async [Symbol.asyncDispose]() { if (!this.#closed) this.closeSync(); }
}
Object.defineProperty(Dir.prototype, Symbol.asyncIterator, {
  __proto__: null, value: Dir.prototype.entries, writable: true, configurable: true,
});

/** By the callback, or as a promise without one. */
function settle(callback, run) {
  if (callback === undefined) return new Promise((resolve) => resolve(run()));
  validateFunction(callback, "callback");
  let error = null;
  let value;
  try {
    value = run();
  } catch (thrown) {
    if (thrown.code !== "ERR_DIR_CLOSED") throw thrown;
    error = thrown;
  }
  setTimeout(() => callback(error, value), 0);
  return undefined;
}

function opendir(path, options = undefined) {
  const { encoding, recursive, bufferSize } = require("internal/fs/arguments").toOptions(options, { encoding: "utf8" });
  if (bufferSize !== undefined) require("internal/validators").validateUint32(bufferSize, "options.bufferSize", true);
  try {
    return new Dir(path, require("internal/fs/sync").readdir(path, { encoding, recursive, withFileTypes: true }));
  } catch (error) {
    if (error.syscall !== "scandir") throw error;
    throw require("internal/fs/errors").fsError(error.code, "opendir", error.path);
  }
}

module.exports = { Dir, opendir };
