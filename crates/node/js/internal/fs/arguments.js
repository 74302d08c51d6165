"use strict";
// What the functions of node:fs are given: paths, options, flags, data. Everything is checked as Node checks it.

const { codes } = require("internal/errors");
const { parseFileMode, validateInteger, validateObject } = require("internal/validators");
const constants = require("internal/fs/constants");

const { ERR_INVALID_ARG_TYPE, ERR_INVALID_ARG_VALUE, ERR_OUT_OF_RANGE } = codes;
const { O_APPEND, O_CREAT, O_EXCL, O_RDONLY, O_RDWR, O_SYNC, O_TRUNC, O_WRONLY } = constants;
const WRITE = O_TRUNC | O_CREAT | O_WRONLY;
const APPEND = O_APPEND | O_CREAT | O_WRONLY;
const both = (flags) => (flags & ~O_WRONLY) | O_RDWR;
const FLAGS = {
  __proto__: null,
  r: O_RDONLY, rs: O_RDONLY | O_SYNC, "r+": O_RDWR, "rs+": O_RDWR | O_SYNC,
  w: WRITE, wx: WRITE | O_EXCL, "w+": both(WRITE), "wx+": both(WRITE) | O_EXCL,
  a: APPEND, ax: APPEND | O_EXCL, as: APPEND | O_SYNC, "a+": both(APPEND), "ax+": both(APPEND) | O_EXCL, "as+": both(APPEND) | O_SYNC,
};
for (const [one, other] of [["rs", "sr"], ["rs+", "sr+"], ["wx", "xw"], ["wx+", "xw+"], ["ax", "xa"], ["ax+", "xa+"], ["as", "sa"], ["as+", "sa+"]]) {
  FLAGS[other] = FLAGS[one];
}

/** The path as text; `file:` URLs and bytes are paths too. */
function toPath(value, name = "path") {
  let path = value;
  if (value instanceof URL || (typeof value === "object" && value !== null && value.href && value.protocol && value.auth === undefined)) {
    path = urlPath(value);
  } else if (value instanceof Uint8Array) {
    path = new TextDecoder().decode(value);
  }
  if (typeof path !== "string") throw new ERR_INVALID_ARG_TYPE(name, ["string", "Buffer", "URL"], value);
  if (path.includes("\0")) {
    throw new ERR_INVALID_ARG_VALUE(name, value, "must be a string, Uint8Array, or URL without null bytes");
  }
  return path;
}

function urlPath({ protocol, hostname, pathname }) {
  if (protocol !== "file:") throw new codes.ERR_INVALID_URL_SCHEME("file");
  if (hostname !== "" && hostname !== "localhost") throw new codes.ERR_INVALID_FILE_URL_HOST("linux");
  if (/%2f/i.test(pathname)) throw new codes.ERR_INVALID_FILE_URL_PATH("must not include encoded / characters");
  return decodeURIComponent(pathname);
}

function toDescriptor(fd, name = "fd") {
  if (typeof fd !== "number") throw new ERR_INVALID_ARG_TYPE(name, "number", fd);
  if (!Number.isInteger(fd)) throw new ERR_OUT_OF_RANGE(name, "an integer", fd);
  if (fd < 0 || fd > 2147483647) throw new ERR_OUT_OF_RANGE(name, ">= 0 && <= 2147483647", fd);
  return fd;
}

function toFlags(flags, name = "flags") {
  if (typeof flags === "number") {
    validateInteger(flags, name, -2147483648, 2147483647);
    return flags;
  }
  if (flags === undefined || flags === null) return O_RDONLY;
  const known = FLAGS[flags];
  if (known === undefined) throw new ERR_INVALID_ARG_VALUE(name, flags);
  return known;
}

/** Options as an object: a string is an encoding, a function a callback. */
function toOptions(options, defaults = {}) {
  if (options === undefined || options === null || typeof options === "function") return defaults;
  const own = typeof options === "string" ? { encoding: options } : options;
  if (typeof own !== "object") throw new ERR_INVALID_ARG_TYPE("options", ["string", "Object"], options);
  if (own.encoding !== undefined && own.encoding !== null && own.encoding !== "buffer") checkEncoding(own.encoding);
  if (own.signal !== undefined) require("internal/validators").validateAbortSignal(own.signal, "options.signal");
  return { ...defaults, ...own };
}

function checkEncoding(encoding) {
  if (!require("buffer").Buffer.isEncoding(encoding)) {
    throw new ERR_INVALID_ARG_VALUE("encoding", encoding, "is invalid encoding");
  }
}

/** Options that are an object and nothing else. */
function objectOptions(options, defaults) {
  if (options === undefined || options === null || typeof options === "function") return { ...defaults };
  validateObject(options, "options");
  return { ...defaults, ...options };
}

const toMode = (mode, fallback, name = "mode") => parseFileMode(mode, name, fallback);

/** Text or a view as bytes. */
function toData(data, encoding = "utf8", name = "data") {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (typeof data !== "string") throw new ERR_INVALID_ARG_TYPE(name, ["string", "Buffer", "TypedArray", "DataView"], data);
  return require("buffer").Buffer.from(data, encoding ?? "utf8");
}

/** Milliseconds of a Date, of seconds or of their text. */
function toTime(time, name) {
  if (time instanceof Date) return time.getTime();
  if (typeof time === "string" && String(+time) === time.trim()) return +time * 1000;
  if (typeof time === "number" && Number.isFinite(time)) return time < 0 ? Date.now() : time * 1000;
  throw new ERR_INVALID_ARG_TYPE(name, ["Date", "Time in seconds"], time);
}

/** A name or path as the `encoding` option wants it. */
function encoded(text, encoding) {
  if (!encoding || encoding === "utf8" || encoding === "utf-8") return text;
  const bytes = require("buffer").Buffer.from(text);
  return encoding === "buffer" ? bytes : bytes.toString(encoding);
}

module.exports = { encoded, objectOptions, toData, toDescriptor, toFlags, toMode, toOptions, toPath, toTime };
