"use strict";
// fs.ReadStream and fs.WriteStream: https://nodejs.org/api/fs.html#class-fsreadstream. Functions, as they have always been.

const { Readable, Writable } = require("stream");
const { codes } = require("internal/errors");
const { validateBoolean, validateInteger } = require("internal/validators");
const { toData, toFlags, toOptions, toPath } = require("internal/fs/arguments");
const sync = require("internal/fs/sync");
const { Buffer } = require("buffer");

const HIGH_WATER_MARK = 64 * 1024;

/** What both are made of: a path or a descriptor, and whether they close it. */
function begin(stream, path, options, flags) {
  const handle = options.fd !== undefined && options.fd !== null && typeof options.fd === "object" ? options.fd : undefined;
  stream.fd = handle === undefined ? options.fd ?? null : handle.fd;
  stream.path = stream.fd === null ? (toPath(path), path) : undefined;
  stream.flags = options.flags ?? flags;
  stream.mode = options.mode ?? 0o666;
  stream.autoClose = options.autoClose ?? true;
  if (options.autoClose !== undefined) validateBoolean(options.autoClose, "options.autoClose");
  if (stream.fd === null) toFlags(stream.flags);
  else if (typeof stream.fd !== "number") throw new codes.ERR_INVALID_ARG_TYPE("options.fd", ["number", "FileHandle"], options.fd);
  handle?.on?.("close", () => stream.close());
}

/** Calls a function of sync.js at once, and back later. */
function later(run, callback) {
  let error = null;
  let value;
  try {
    value = run();
  } catch (thrown) {
    error = thrown;
  }
  setImmediate(() => callback(error, value));
}

const shared = {
  _construct(callback) {
    if (this.fd !== null) return callback();
    return later(() => sync.open(this.path, this.flags, this.mode), (error, fd) => {
      if (error) return callback(error);
      this.fd = fd;
      callback();
      this.emit("open", fd);
      return this.emit("ready");
    });
  },

  _destroy(error, callback) {
    const { fd } = this;
    if (fd === null || !this.autoClose) return callback(error);
    this.fd = null;
    return later(() => sync.close(fd), (closing) => callback(error ?? closing));
  },

  destroySoon() { this.end(); },
};

function ReadStream(path, options) {
  if (!(this instanceof ReadStream)) return new ReadStream(path, options);
  options = toOptions(options, { highWaterMark: HIGH_WATER_MARK, emitClose: true });
  begin(this, path, options, "r");
  this.start = options.start;
  this.end = options.end ?? Infinity;
  this.pos = undefined;
  this.bytesRead = 0;
  if (this.start !== undefined) {
    validateInteger(this.start, "start", 0);
    this.pos = this.start;
  }
  if (this.end !== Infinity) {
    validateInteger(this.end, "end", 0);
    if (this.start !== undefined && this.start > this.end) {
      throw new codes.ERR_OUT_OF_RANGE("start", `<= "end" (here: ${this.end})`, this.start);
    }
  }
  Reflect.apply(Readable, this, [{ ...options, autoDestroy: this.autoClose, encoding: undefined }]);
  if (options.encoding) this.setEncoding(options.encoding);
}

function WriteStream(path, options) {
  if (!(this instanceof WriteStream)) return new WriteStream(path, options);
  options = toOptions(options, { emitClose: true, decodeStrings: true });
  begin(this, path, options, "w");
  this.start = options.start;
  this.pos = undefined;
  this.bytesWritten = 0;
  if (this.start !== undefined) {
    validateInteger(this.start, "start", 0);
    this.pos = this.start;
  }
  const { encoding, ...others } = options;
  Reflect.apply(Writable, this, [{ ...others, autoDestroy: this.autoClose }]);
  if (encoding) this.setDefaultEncoding(encoding);
}

function define(Class, Base, methods) {
  Object.setPrototypeOf(Class.prototype, Base.prototype);
  Object.setPrototypeOf(Class, Base);
  for (const [name, value] of Object.entries(methods)) {
    Object.defineProperty(Class.prototype, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
  }
  Object.defineProperty(Class.prototype, "pending", { __proto__: null, configurable: true, get() { return this.fd === null; } });
}

define(ReadStream, Readable, {
  _construct: shared._construct,
  _destroy: shared._destroy,

  _read(size) {
    const at = this.pos ?? (this.start ?? 0) + this.bytesRead;
    const wanted = Math.min(size, this.end - at + 1);
    if (wanted <= 0) return void this.push(null);
    const piece = Buffer.allocUnsafeSlow(wanted);
    return later(() => sync.read(this.fd, piece, 0, wanted, this.pos ?? null), (error, count) => {
      if (error) return void this.destroy(error);
      if (this.pos !== undefined) this.pos += count;
      this.bytesRead += count;
      return void this.push(count === 0 ? null : piece.subarray(0, count));
    });
  },

  close(callback) {
    if (callback) require("stream").finished(this, callback);
    this.destroy();
  },
});

define(WriteStream, Writable, {
  _construct: shared._construct,
  _destroy: shared._destroy,
  destroySoon: shared.destroySoon,

  _write(data, encoding, callback) {
    later(() => sync.write(this.fd, toData(data, encoding), 0, undefined, this.pos ?? null), (error, count) => {
      if (error) return callback(error);
      this.bytesWritten += count;
      if (this.pos !== undefined) this.pos += count;
      return callback();
    });
  },

  _writev(chunks, callback) {
    this._write(Buffer.concat(chunks.map(({ chunk, encoding }) => toData(chunk, encoding))), "buffer", callback);
  },

  close(callback) {
    if (callback) {
      if (this.closed) return void setImmediate(callback);
      this.on("close", callback);
    }
    if (!this.autoClose) this.on("finish", () => this.destroy());
    return void this.end();
  },
});

module.exports = { ReadStream, WriteStream };
