"use strict";
// The encodings of Buffer, by their names and by the numbers that the natives know them by.

const { encodings } = binding("buffer");
const { ERR_UNKNOWN_ENCODING } = require("internal/errors");

const [UTF8, UTF16LE, LATIN1, ASCII, BASE64, BASE64URL, HEX] = encodings.keys();

const numbers = {
  __proto__: null,
  "utf8": UTF8, "utf-8": UTF8, "utf16le": UTF16LE, "utf-16le": UTF16LE, "ucs2": UTF16LE, "ucs-2": UTF16LE,
  "latin1": LATIN1, "binary": LATIN1, "ascii": ASCII, "base64": BASE64, "base64url": BASE64URL, "hex": HEX,
};

/** The number of an encoding; undefined where there is none of that name. */
function encodingNumber(name) {
  return numbers[name] ?? numbers[`${name}`.toLowerCase()];
}

/** The same, and an error where there is none. */
function needEncoding(name) {
  const number = encodingNumber(name);
  if (number === undefined) throw new ERR_UNKNOWN_ENCODING(name);
  return number;
}

/** An encoding's one name; utf8 for what is empty. */
function normalizeEncoding(name) {
  if (name === undefined || name === null || name === "") return "utf8";
  return encodings[encodingNumber(name)];
}

/** How many bytes a text of an encoding other than UTF-8 may have. */
function byteLength(text, encoding) {
  const { length } = text;
  switch (encoding) {
    case UTF16LE: return length * 2;
    case HEX: return length >>> 1;
    case BASE64:
    case BASE64URL: {
      let digits = length;
      if (digits > 0 && text.charCodeAt(digits - 1) === 0x3d) digits--;
      if (digits > 1 && text.charCodeAt(digits - 1) === 0x3d) digits--;
      return Math.floor(digits * 3 / 4);
    }
    default: return length;
  }
}

module.exports = {
  ASCII, BASE64, BASE64URL, HEX, LATIN1, UTF16LE, UTF8, byteLength, encodingNumber, needEncoding, normalizeEncoding,
};
