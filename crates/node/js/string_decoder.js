"use strict";
// node:string_decoder (https://nodejs.org/api/string_decoder.html): bytes that come in pieces to text, with characters that
// are cut between pieces kept whole.

const { Buffer } = require("buffer");
const {
  BASE64, BASE64URL, UTF16LE, UTF8, encodingNumber, normalizeEncoding,
} = require("internal/buffer/encodings");
const { ERR_INVALID_ARG_TYPE, ERR_INVALID_THIS, ERR_UNKNOWN_ENCODING } = require("internal/errors");

const kNumber = Symbol("encoding");
const kHeld = Symbol("held");
const kMissing = Symbol("missing");

function StringDecoder(encoding) {
  const name = normalizeEncoding(encoding);
  if (name === undefined) throw new ERR_UNKNOWN_ENCODING(encoding);
  this.encoding = name;
  const number = encodingNumber(name);
  for (const [key, value] of [[kNumber, number], [kHeld, Buffer.alloc(0)], [kMissing, 0]]) {
    Object.defineProperty(this, key, { __proto__: null, value, writable: true, configurable: true, enumerable: false });
  }
}

/** How many bytes at the end of UTF-8 are the beginning of a character, and how many it still wants. */
function cutUtf8(bytes) {
  const { length } = bytes;
  for (let back = 1; back <= 3 && back <= length; back++) {
    const byte = bytes[length - back];
    if ((byte & 0xc0) === 0x80) continue;
    const size = byte >= 0xf0 && byte <= 0xf7 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc0 && byte < 0xe0 ? 2 : 1;
    if (size <= back || !canFollow(bytes, length - back)) return [0, 0];
    return [back, size - back];
  }
  return [0, 0];
}

/** Whether the second byte, if there is one, can follow the first: else the first is an error for itself. */
function canFollow(bytes, at) {
  const first = bytes[at], second = bytes[at + 1];
  if (second === undefined) return true;
  if (first === 0xe0) return second >= 0xa0;
  if (first === 0xed) return second <= 0x9f;
  if (first === 0xf0) return second >= 0x90;
  return first !== 0xf4 || second <= 0x8f;
}

/** The same of UTF-16: an odd byte, or a surrogate that waits for its pair; both only where the surrogate was held already. */
function cutUtf16(bytes, wasHeld) {
  const { length } = bytes;
  const odd = length % 2;
  const last = length - odd - 1;
  const waits = last > 0 && bytes[last] >= 0xd8 && bytes[last] <= 0xdb;
  if (waits && (odd === 0 || (wasHeld && length === 3))) return [2 + odd, 2 - odd];
  return [odd, odd];
}

function cut(number, bytes, wasHeld) {
  if (number === UTF8) return cutUtf8(bytes);
  if (number === UTF16LE) return cutUtf16(bytes, wasHeld);
  const rest = number === BASE64 || number === BASE64URL ? bytes.length % 3 : 0;
  return [rest, rest === 0 ? 0 : 3 - rest];
}

function check(decoder) {
  if (decoder?.[kHeld] === undefined) throw new ERR_INVALID_THIS("StringDecoder");
}

StringDecoder.prototype.write = function write(chunk) {
  if (typeof chunk === "string") return chunk;
  if (!ArrayBuffer.isView(chunk)) throw new ERR_INVALID_ARG_TYPE("buf", ["Buffer", "TypedArray", "DataView"], chunk);
  check(this);
  let bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const wasHeld = this[kHeld].length > 0;
  if (wasHeld) bytes = Buffer.concat([this[kHeld], bytes]);
  const [held, missing] = cut(this[kNumber], bytes, wasHeld);
  this[kHeld] = held === 0 ? Buffer.alloc(0) : Buffer.from(bytes.subarray(bytes.length - held));
  this[kMissing] = missing;
  return bytes.toString(this.encoding, 0, bytes.length - held);
};

StringDecoder.prototype.end = function end(chunk) {
  check(this);
  const text = chunk === undefined ? "" : this.write(chunk);
  const held = this[kHeld];
  this[kHeld] = Buffer.alloc(0);
  this[kMissing] = 0;
  if (held.length === 0) return text;
  return text + held.toString(this.encoding, 0, this[kNumber] === UTF16LE ? held.length & ~1 : held.length);
};

StringDecoder.prototype.text = function text(chunk, offset) {
  check(this);
  this[kHeld] = Buffer.alloc(0);
  this[kMissing] = 0;
  return this.write(chunk.subarray(offset));
};

Object.defineProperties(StringDecoder.prototype, {
  lastChar: {
    __proto__: null, configurable: true, enumerable: true,
    get() {
      const four = Buffer.alloc(4);
      this[kHeld].copy(four);
      return four;
    },
  },
  lastNeed: { __proto__: null, configurable: true, enumerable: true, get() { return this[kMissing]; } },
  lastTotal: {
    __proto__: null, configurable: true, enumerable: true,
    get() { return this[kHeld].length + this[kMissing]; },
  },
});

module.exports = { StringDecoder };
