// @ts-check
"use strict";
// https://fetch.spec.whatwg.org/#data-urls: what fetch() answers for data: URLs.

const {
  StringPrototypeCharCodeAt, StringPrototypeIndexOf, StringPrototypeSlice, TypedArrayPrototypeGetBuffer, Uint8Array,
} = require("primordials");
const { op_base64_decode, op_text_decode } = require("ops");
const { asciiLowercase, trimHttpWhitespace } = require("infra/bytes");
const { parseMimeType, serializeMimeType } = require("infra/mime");

function hexDigit(code) {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** "Percent-decode" of an ASCII string, which is what is in an href. */
function percentDecode(text) {
  const bytes = new Uint8Array(text.length);
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    const code = StringPrototypeCharCodeAt(text, i);
    if (code === 0x25 && i + 2 < text.length) {
      const high = hexDigit(StringPrototypeCharCodeAt(text, i + 1));
      const low = hexDigit(StringPrototypeCharCodeAt(text, i + 2));
      if (high >= 0 && low >= 0) {
        bytes[length++] = high * 16 + low;
        i += 2;
        continue;
      }
    }
    bytes[length++] = code;
  }
  return new Uint8Array(TypedArrayPrototypeGetBuffer(bytes), 0, length);
}

/** Every code unit a byte. */
function fromBinary(text) {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = StringPrototypeCharCodeAt(text, i);
  return bytes;
}

/** The text before a trailing `; base64`, undefined if there is none. */
function withoutBase64(text) {
  if (text.length < 7 || asciiLowercase(StringPrototypeSlice(text, -6)) !== "base64") return undefined;
  let end = text.length - 6;
  while (end > 0 && StringPrototypeCharCodeAt(text, end - 1) === 0x20) end--;
  return end > 0 && StringPrototypeCharCodeAt(text, end - 1) === 0x3b ? StringPrototypeSlice(text, 0, end - 1) : undefined;
}

/** @returns {{ type: string, bytes: Uint8Array } | null} null: not a data: URL that can be read */
function readDataUrl(href) {
  const hash = StringPrototypeIndexOf(href, "#");
  const input = StringPrototypeSlice(href, 5, hash < 0 ? undefined : hash);
  const comma = StringPrototypeIndexOf(input, ",");
  if (comma < 0) return null;
  let type = trimHttpWhitespace(StringPrototypeSlice(input, 0, comma));
  const data = StringPrototypeSlice(input, comma + 1);
  let bytes;
  const stripped = withoutBase64(type);
  if (stripped === undefined) {
    bytes = percentDecode(data);
  } else {
    // Bytes that are not ASCII are wrong in base64, whatever they are decoded as.
    const decoded = op_base64_decode(op_text_decode("windows-1252", percentDecode(data), false, true));
    if (decoded === undefined) return null;
    bytes = fromBinary(decoded);
    type = stripped;
  }
  if (StringPrototypeCharCodeAt(type, 0) === 0x3b) type = `text/plain${type}`;
  const mimeType = parseMimeType(type);
  return { __proto__: null, type: mimeType === null ? "text/plain;charset=US-ASCII" : serializeMimeType(mimeType), bytes };
}

module.exports = { readDataUrl };
