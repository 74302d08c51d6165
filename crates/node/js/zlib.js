"use strict";
// node:zlib (https://nodejs.org/api/zlib.html): gzip, deflate, brotli and zstd.
//
// Deviations: everything runs on the app's own thread, in pieces, and counts for its CPU limit; `params` changes the level
// where zlib-rs can, and never the strategy; brotli has no dictionaries and no large windows; zstd's `nbWorkers` has no
// effect; there are no zip archives (ZipFile and others, which Node calls experimental): packages such as fflate, jszip or
// yauzl read and write them.

const { Buffer } = require("buffer");
const { codes: errors } = require("internal/errors");
const { validateFunction, validateUint32 } = require("internal/validators");
const { codes, constants } = require("internal/zlib/constants");
const streams = require("internal/zlib/streams");
const { crc32: nativeCrc32 } = binding("zlib");

const BYTES = ["string", "Buffer", "TypedArray", "DataView", "ArrayBuffer"];

function toBytes(value) {
  if (typeof value === "string") return Buffer.from(value);
  if (ArrayBuffer.isView(value)) return value;
  if (value instanceof ArrayBuffer) return Buffer.from(value);
  throw new errors.ERR_INVALID_ARG_TYPE("buffer", BYTES, value);
}

function runSync(stream, input) {
  const buffer = stream._processChunk(toBytes(input), stream._finishFlushFlag);
  return stream._info ? { buffer, engine: stream } : buffer;
}

function run(stream, input, callback) {
  validateFunction(callback, "callback");
  if (ArrayBuffer.isView(input) && !(input instanceof Uint8Array)) {
    input = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  } else if (input instanceof ArrayBuffer) {
    input = Buffer.from(input);
  }
  const pieces = [];
  let length = 0;
  const end = (error, result) => {
    stream.removeAllListeners("end");
    callback(error, result);
  };
  stream.on("data", (piece) => {
    pieces.push(piece);
    length += piece.length;
    if (length > stream._maxOutputLength) {
      stream.close();
      end(new errors.ERR_BUFFER_TOO_LARGE(stream._maxOutputLength));
    }
  });
  stream.on("error", (error) => end(error));
  stream.on("end", () => {
    const buffer = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces, length);
    stream.close();
    callback(null, stream._info ? { buffer, engine: stream } : buffer);
  });
  stream.end(input);
}

const zlib = { ...streams };
for (const name of Object.keys(streams)) {
  const Stream = streams[name];
  const lower = name[0].toLowerCase() + name.slice(1);
  const create = { [`create${name}`](options) { return new Stream(options); } }[`create${name}`];
  Object.defineProperty(zlib, create.name, { __proto__: null, value: create, enumerable: true, configurable: true });
  zlib[lower] = { [lower](buffer, options, callback) {
    if (typeof options === "function") [options, callback] = [{}, options];
    return run(new Stream(options), buffer, callback);
  } }[lower];
  zlib[`${lower}Sync`] = { [`${lower}Sync`](buffer, options) { return runSync(new Stream(options), buffer); } }[`${lower}Sync`];
}

zlib.crc32 = function crc32(data, value = 0) {
  if (typeof data !== "string" && !ArrayBuffer.isView(data)) {
    throw new errors.ERR_INVALID_ARG_TYPE("data", ["Buffer", "TypedArray", "DataView", "string"], data);
  }
  validateUint32(value, "value");
  return nativeCrc32(data, value + 0);
};

Object.defineProperties(zlib, {
  constants: { __proto__: null, value: constants, enumerable: true },
  codes: { __proto__: null, value: codes, enumerable: true },
});
// As Node still has them, deprecated.
for (const name of Object.keys(constants)) {
  if (!name.startsWith("BROTLI")) Object.defineProperty(zlib, name, { __proto__: null, value: constants[name] });
}

module.exports = zlib;
