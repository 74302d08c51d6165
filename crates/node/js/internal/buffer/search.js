"use strict";
// Buffer's indexOf, lastIndexOf and includes.

const { indexOf: findBytes } = binding("buffer");
const { UTF16LE, UTF8, encodingNumber } = require("internal/buffer/encodings");
const { ERR_INVALID_ARG_TYPE, ERR_UNKNOWN_ENCODING } = require("internal/errors");
const { validateBuffer } = require("internal/validators");

/** The start of the search as an index, or -1 where nothing can be found. */
function startOf(offset, length, wanted, forwards) {
  let start = offset;
  if (start < 0) start += length;
  if (start < 0) {
    if (!forwards) return -1;
    start = 0;
  }
  if (start > length - wanted) {
    if (forwards) return -1;
    start = length - wanted;
  }
  return start < 0 ? -1 : start;
}

function find(buffer, value, offset, end, encoding, forwards) {
  validateBuffer(buffer);
  if (typeof offset === "string") {
    encoding = offset;
    offset = undefined;
  }
  if (typeof end === "string") {
    encoding = end;
    end = undefined;
  }
  let bytes = buffer;
  if (end !== undefined) {
    const last = Math.trunc(end) || 0;
    bytes = new Uint8Array(buffer.buffer, buffer.byteOffset,
      Math.max(0, Math.min(last, buffer.length)));
  }
  const { length } = bytes;
  offset = +offset;
  if (Number.isNaN(offset)) offset = forwards ? 0 : length;
  offset = Math.trunc(Math.max(-0x80000000, Math.min(offset, 0x7fffffff)));

  if (typeof value === "number") {
    const byte = value & 0xff;
    const start = startOf(offset, length, 1, forwards);
    if (start < 0) return -1;
    const method = forwards ? Uint8Array.prototype.indexOf : Uint8Array.prototype.lastIndexOf;
    return method.call(bytes, byte, start);
  }
  const number = encoding === undefined ? UTF8 : encodingNumber(encoding);
  let wanted = value;
  if (typeof value === "string") {
    if (number === undefined) throw new ERR_UNKNOWN_ENCODING(encoding);
    wanted = require("buffer").Buffer.from(value, encoding);
  } else if (!(value instanceof Uint8Array)) {
    throw new ERR_INVALID_ARG_TYPE("value", ["number", "string", "Buffer", "Uint8Array"], value);
  }
  if (wanted.length === 0) {
    const at = offset < 0 ? offset + length : offset;
    return Math.max(0, Math.min(at, length));
  }
  const wide = number === UTF16LE;
  if (wide && (wanted.length < 2 || length < 2)) return -1;
  const start = startOf(offset, length, wanted.length, forwards);
  return start < 0 ? -1 : findBytes(bytes, wanted, start, !forwards, wide);
}

// Functions, not methods: as in Node they can be called with `new`, which fails for want of a buffer.
const methods = {
  indexOf: function indexOf(value, offset, end, encoding) { return find(this, value, offset, end, encoding, true); },
  lastIndexOf: function lastIndexOf(value, offset, end, encoding) { return find(this, value, offset, end, encoding, false); },
  includes: function includes(value, offset, end, encoding) { return find(this, value, offset, end, encoding, true) !== -1; },
};

module.exports = { methods };
