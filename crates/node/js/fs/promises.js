"use strict";
// node:fs/promises (https://nodejs.org/api/fs.html#promises-api), and FileHandle. See fs.js for what there is to read and write.

const { EventEmitter } = require("events");
const { toData, toOptions } = require("internal/fs/arguments");
const constants = require("internal/fs/constants");
const { opendir } = require("internal/fs/dir");
const { fsError } = require("internal/fs/errors");
const { unavailable } = require("internal/fs/unavailable");
const sync = require("internal/fs/sync");
const tree = require("internal/fs/tree");

const READ_SIZE = 16384;

/** A file that is open. Its methods are those of node:fs with the descriptor left out. */
class FileHandle extends EventEmitter {
  #fd;

  constructor(fd) {
    super();
    this.#fd = fd;
  }

  get fd() { return this.#fd; }

  #open(syscall) {
    if (this.#fd === -1) throw fsError("EBADF", syscall);
    return this.#fd;
  }

  async appendFile(data, options) { return writeTo(this.#open("write"), data, toOptions(options, { encoding: "utf8" })); }
  async chmod(mode) { return sync.fchmod(this.#open("fchmod"), mode); }
  async chown(uid, gid) { return sync.fchown(this.#open("fchown"), uid, gid); }
  async datasync() { return sync.fdatasync(this.#open("fdatasync")); }
  async sync() { return sync.fsync(this.#open("fsync")); }
  async readFile(options) { return sync.readFile(this.#open("read"), options); }
  async stat(options) { return sync.fstat(this.#open("fstat"), options); }
  async truncate(length = 0) { return sync.ftruncate(this.#open("ftruncate"), length); }
  async utimes(atime, mtime) { return sync.futimes(this.#open("futime"), atime, mtime); }
  async writeFile(data, options) { return writeTo(this.#open("write"), data, toOptions(options, { encoding: "utf8" })); }
  async readv(buffers, position) { return { bytesRead: sync.readv(this.#open("read"), buffers, position), buffers }; }
  async writev(buffers, position) { return { bytesWritten: sync.writev(this.#open("write"), buffers, position), buffers }; }

  async read(buffer, offset, length, position) {
    const fd = this.#open("read");
    if (!ArrayBuffer.isView(buffer)) {
      const options = buffer ?? {};
      buffer = options.buffer ?? require("buffer").Buffer.alloc(READ_SIZE);
      ({ offset = 0, length = buffer.byteLength - offset, position = null } = options);
    }
    return { bytesRead: sync.read(fd, buffer, offset, length, position), buffer };
  }

  async write(buffer, offset, length, position) {
    return { bytesWritten: sync.write(this.#open("write"), buffer, offset, length, position), buffer };
  }

  async close() {
    if (this.#fd === -1) return;
    const fd = this.#fd;
    this.#fd = -1;
    sync.close(fd);
    this.emit("close");
  }

  async *readLines(options = undefined) {
    yield* require("readline").createInterface({ input: this.createReadStream(options), crlfDelay: Infinity });
  }

  createReadStream(options = undefined) { return new (require("internal/fs/streams").ReadStream)(undefined, { ...options, fd: this }); }
  createWriteStream(options = undefined) { return new (require("internal/fs/streams").WriteStream)(undefined, { ...options, fd: this }); }

  readableWebStream() {
    const fd = this.#open("read");
    return new ReadableStream({
      type: "bytes",
      pull: (controller) => {
        const piece = new Uint8Array(READ_SIZE);
        const count = sync.read(fd, piece, 0, READ_SIZE, null);
        if (count > 0) return controller.enqueue(piece.subarray(0, count));
        controller.close();
        return controller.byobRequest?.respond(0);
      },
    });
  }

  [Symbol.asyncDispose]() { return this.close(); }
}

/** Data, or pieces of it one after the other. */
async function writeTo(fd, data, { encoding, signal }) {
  if (typeof data === "string" || ArrayBuffer.isView(data)) return void sync.write(fd, toData(data, encoding));
  if (typeof data?.[Symbol.asyncIterator] !== "function" && typeof data?.[Symbol.iterator] !== "function") toData(data);
  for await (const piece of data) {
    checkAborted(signal);
    sync.write(fd, toData(piece, encoding));
  }
}

function checkAborted(signal) {
  if (!signal?.aborted) return;
  const { AbortError } = require("internal/errors");
  throw new AbortError(undefined, { cause: signal.reason });
}

/** By path, by descriptor or by handle. */
function fileOf(path) {
  return path instanceof FileHandle ? path.fd : path;
}

const promises = {
  constants,

  async open(path, flags, mode) { return new FileHandle(sync.open(path, flags, mode)); },

  async readFile(path, options) {
    checkAborted(options?.signal);
    if (path instanceof FileHandle) return path.readFile(options);
    if (typeof path === "number") require("internal/fs/arguments").toPath(path);
    return sync.readFile(path, options);
  },

  async writeFile(path, data, options) {
    const settings = toOptions(options, { encoding: "utf8", mode: 0o666, flag: "w" });
    checkAborted(settings.signal);
    if (path instanceof FileHandle) return writeTo(path.fd, data, settings);
    const handle = await promises.open(path, settings.flag, settings.mode);
    try {
      await writeTo(handle.fd, data, settings);
    } finally {
      await handle.close();
    }
    return undefined;
  },

  async appendFile(path, data, options) {
    return promises.writeFile(path, data, toOptions(options, { encoding: "utf8", mode: 0o666, flag: "a" }));
  },

  async opendir(path, options) { return opendir(path, options); },
  async truncate(path, length) { return sync.truncate(fileOf(path), length); },

  async *glob(patterns, options) { yield* require("internal/fs/glob").glob(patterns, options); },

  async *watch() { throw unavailable("watch"); },

  async mkdtempDisposable(prefix, options) {
    const path = tree.mkdtemp(prefix, options);
    const remove = async () => tree.rm(path, { recursive: true, force: true });
    return { path, remove, [Symbol.asyncDispose]: remove };
  },
};

const SAME = [
  "access", "chmod", "chown", "lchmod", "lchown", "lstat", "lutimes", "readdir", "readlink", "realpath", "stat", "utimes",
  "copyFile", "cp", "link", "mkdir", "mkdtemp", "rename", "rm", "rmdir", "statfs", "symlink", "unlink",
];
for (const name of SAME) {
  const run = sync[name] ?? tree[name];
  promises[name] = { async [name](...values) { return run(...values); } }[name];
}

Object.defineProperty(promises, "FileHandle", { __proto__: null, value: FileHandle });

module.exports = promises;
