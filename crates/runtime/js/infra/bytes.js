// @ts-check
"use strict";
// Bytes and strings as the Infra standard has them (https://infra.spec.whatwg.org/): views without copies, copies,
// concatenation, UTF-8 both ways, and the small string operations that HTTP and MIME types need.

const {
  ArrayBuffer, ArrayBufferIsView, ArrayBufferPrototypeGetByteLength, ArrayBufferPrototypeGetDetached,
  DataViewPrototypeGetBuffer, DataViewPrototypeGetByteLength, DataViewPrototypeGetByteOffset,
  StringPrototypeCharCodeAt, StringPrototypeSlice, StringPrototypeToLowerCase, TypedArrayPrototypeGetBuffer,
  TypedArrayPrototypeGetByteLength, TypedArrayPrototypeGetByteOffset, TypedArrayPrototypeGetSymbolToStringTag,
  TypedArrayPrototypeSet, Uint8Array,
} = require("primordials");
const { isArrayBuffer } = require("webidl");
const { op_text_decode, op_text_encode } = require("ops");

function isDataView(view) {
  return TypedArrayPrototypeGetSymbolToStringTag(view) === undefined;
}

/** The buffer beneath a view, or the buffer itself. */
function bufferOf(source) {
  if (!ArrayBufferIsView(source)) return source;
  return isDataView(source) ? DataViewPrototypeGetBuffer(source) : TypedArrayPrototypeGetBuffer(source);
}

/** False for SharedArrayBuffers. */
function isDetached(buffer) {
  return isArrayBuffer(buffer) && ArrayBufferPrototypeGetDetached(buffer);
}

/** The bytes of a BufferSource, shared with it, as a Uint8Array of exactly that class. A detached one has none. */
function asBytes(source) {
  if (!ArrayBufferIsView(source)) return isDetached(source) ? new Uint8Array(0) : new Uint8Array(source);
  if (!isDataView(source)) {
    const buffer = TypedArrayPrototypeGetBuffer(source);
    if (isDetached(buffer)) return new Uint8Array(0);
    return new Uint8Array(buffer, TypedArrayPrototypeGetByteOffset(source), TypedArrayPrototypeGetByteLength(source));
  }
  const buffer = DataViewPrototypeGetBuffer(source);
  if (isDetached(buffer)) return new Uint8Array(0);
  return new Uint8Array(buffer, DataViewPrototypeGetByteOffset(source), DataViewPrototypeGetByteLength(source));
}

/** The bytes of a BufferSource, copied. */
function copyBytes(source) {
  const bytes = asBytes(source);
  const copy = new Uint8Array(TypedArrayPrototypeGetByteLength(bytes));
  TypedArrayPrototypeSet(copy, bytes);
  return copy;
}

function byteLengthOf(source) {
  return TypedArrayPrototypeGetByteLength(asBytes(source));
}

/** An ArrayBuffer with exactly these bytes: the one beneath, when nothing else is in it. */
function exactBuffer(bytes) {
  const buffer = TypedArrayPrototypeGetBuffer(bytes);
  const length = TypedArrayPrototypeGetByteLength(bytes);
  if (ArrayBufferPrototypeGetByteLength(buffer) === length) return buffer;
  return TypedArrayPrototypeGetBuffer(copyBytes(bytes));
}

/** One Uint8Array of many, given in an array. Always fresh. */
function concatBytes(list) {
  let total = 0;
  for (let i = 0; i < list.length; i++) total += TypedArrayPrototypeGetByteLength(list[i]);
  const whole = new Uint8Array(new ArrayBuffer(total));
  for (let i = 0, at = 0; i < list.length; i++) {
    TypedArrayPrototypeSet(whole, list[i], at);
    at += TypedArrayPrototypeGetByteLength(list[i]);
  }
  return whole;
}

/** "UTF-8 encode". */
function utf8Encode(text) {
  return op_text_encode(text);
}

/** "UTF-8 decode": without the byte order mark. */
function utf8Decode(bytes) {
  return op_text_decode("utf-8", bytes, false, false);
}

// ---- Strings

/** Tab, newline, carriage return, space. */
function isHttpWhitespace(code) {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
}

function trimHttpWhitespace(text) {
  let start = 0;
  let end = text.length;
  while (start < end && isHttpWhitespace(StringPrototypeCharCodeAt(text, start))) start++;
  while (end > start && isHttpWhitespace(StringPrototypeCharCodeAt(text, end - 1))) end--;
  return start === 0 && end === text.length ? text : StringPrototypeSlice(text, start, end);
}

/** Whether a code unit may be part of an HTTP token (RFC 9110, tchar). */
function isTokenCode(code) {
  if (code >= 0x61 && code <= 0x7a) return true; // a-z
  if (code >= 0x30 && code <= 0x39) return true; // 0-9
  if (code >= 0x41 && code <= 0x5a) return true; // A-Z
  switch (code) {
    case 0x21: case 0x23: case 0x24: case 0x25: case 0x26: case 0x27: case 0x2a: case 0x2b: // ! # $ % & ' * +
    case 0x2d: case 0x2e: case 0x5e: case 0x5f: case 0x60: case 0x7c: case 0x7e: // - . ^ _ ` | ~
      return true;
    default:
      return false;
  }
}

/** Not empty, and nothing but token code points. */
function isHttpToken(text) {
  for (let i = 0; i < text.length; i++) if (!isTokenCode(StringPrototypeCharCodeAt(text, i))) return false;
  return text.length > 0;
}

/** "ASCII lowercase": other letters stay, unlike with toLowerCase (the Kelvin sign, for one, would become a k). */
function asciiLowercase(text) {
  let ascii = true;
  let upper = false;
  for (let i = 0; i < text.length; i++) {
    const code = StringPrototypeCharCodeAt(text, i);
    if (code >= 0x41 && code <= 0x5a) upper = true;
    else if (code > 0x7f) ascii = false;
  }
  if (!upper) return text;
  if (ascii) return StringPrototypeToLowerCase(text);
  let lower = "";
  for (let i = 0; i < text.length; i++) {
    const code = StringPrototypeCharCodeAt(text, i);
    lower += code >= 0x41 && code <= 0x5a ? StringPrototypeToLowerCase(text[i]) : text[i];
  }
  return lower;
}

module.exports = {
  asBytes, copyBytes, byteLengthOf, bufferOf, exactBuffer, isDetached, concatBytes, utf8Encode, utf8Decode,
  isHttpWhitespace, trimHttpWhitespace, isTokenCode, isHttpToken, asciiLowercase,
};
