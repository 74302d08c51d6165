"use strict";
// The functions of node:buffer beside Buffer itself.

const native = binding("buffer");
const { encodingNumber, normalizeEncoding } = require("internal/buffer/encodings");
const { isAnyArrayBuffer, isUint8Array } = require("internal/buffer/memory");
const { toText } = require("internal/buffer/methods");
const { ERR_INVALID_ARG_TYPE, ERR_MISSING_ARGS, genericNodeError } = require("internal/errors");
const { validateString } = require("internal/validators");

function checkReadable(input) {
  if (!ArrayBuffer.isView(input) && !isAnyArrayBuffer(input)) {
    throw new ERR_INVALID_ARG_TYPE("input", ["ArrayBuffer", "Buffer", "TypedArray"], input);
  }
}

function isUtf8(input) {
  checkReadable(input);
  return native.isUtf8(input);
}

function isAscii(input) {
  checkReadable(input);
  return native.isAscii(input);
}

function transcode(source, fromEncoding, toEncoding) {
  if (!isUint8Array(source)) throw new ERR_INVALID_ARG_TYPE("source", ["Buffer", "Uint8Array"], source);
  const { Buffer } = require("buffer");
  if (source.length === 0) return Buffer.alloc(0);
  const [from, to] = [normalizeEncoding(fromEncoding), normalizeEncoding(toEncoding)];
  const supported = ["utf8", "utf16le", "latin1", "ascii"];
  if (!supported.includes(from) || !supported.includes(to)) {
    throw genericNodeError("Unable to transcode Buffer [U_ILLEGAL_ARGUMENT_ERROR]",
      { code: "U_ILLEGAL_ARGUMENT_ERROR", errno: 1 });
  }
  const text = toText(source, encodingNumber(from), 0, source.length);
  if (to !== "latin1" && to !== "ascii") return Buffer.from(text, to);
  // What the encoding does not have becomes a question mark, one for each character.
  const most = to === "ascii" ? 0x7f : 0xff;
  return Buffer.from(Array.from(text, (character) => {
    const point = character.codePointAt(0);
    return point > most ? 0x3f : point;
  }));
}

function btoa(input) {
  if (arguments.length === 0) throw new ERR_MISSING_ARGS("input");
  return globalThis.btoa(`${input}`);
}

function atob(input) {
  if (arguments.length === 0) throw new ERR_MISSING_ARGS("input");
  return globalThis.atob(`${input}`);
}

function resolveObjectURL(url) {
  validateString(url, "url");
  return undefined;
}

module.exports = { atob, btoa, isAscii, isUtf8, resolveObjectURL, transcode };
