// @ts-check
"use strict";
// https://www.w3.org/TR/sri-2/: whether bytes are what the `integrity` of a request says. Unknown algorithms and malformed
// items are ignored, as the spec has it; of the known ones only the strongest count.

const {
  ArrayPrototypePush, StringFromCharCode, StringPrototypeCharCodeAt, StringPrototypeIndexOf, StringPrototypeSlice,
  Uint8Array,
} = require("primordials");
const { op_base64_encode, op_crypto_digest } = require("ops");
const { asciiLowercase, isHttpWhitespace } = require("infra/bytes");

/** In the order of their strength. */
const ALGORITHMS = ["sha256", "sha384", "sha512"];
const NAMES = ["SHA-256", "SHA-384", "SHA-512"];

/** Without padding, and with the alphabet of URLs made the usual one. */
function normalizeBase64(text) {
  let result = "";
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char !== "=") result += char === "-" ? "+" : char === "_" ? "/" : char;
  }
  return result;
}

/** The items of the strongest algorithm: { strength, values }. */
function parseIntegrity(text) {
  let strength = -1;
  let values = [];
  for (let at = 0; at < text.length;) {
    let end = at;
    while (end < text.length && !isHttpWhitespace(StringPrototypeCharCodeAt(text, end))) end++;
    let item = StringPrototypeSlice(text, at, end);
    at = end + 1;
    const options = StringPrototypeIndexOf(item, "?");
    if (options >= 0) item = StringPrototypeSlice(item, 0, options);
    const dash = StringPrototypeIndexOf(item, "-");
    if (dash < 0) continue;
    const name = asciiLowercase(StringPrototypeSlice(item, 0, dash));
    for (let i = 0; i < ALGORITHMS.length; i++) {
      if (ALGORITHMS[i] !== name || i < strength) continue;
      if (i > strength) {
        strength = i;
        values = [];
      }
      ArrayPrototypePush(values, normalizeBase64(StringPrototypeSlice(item, dash + 1)));
    }
  }
  return { __proto__: null, strength, values };
}

function bytesMatch(bytes, integrity) {
  const { strength, values } = parseIntegrity(integrity);
  if (strength < 0) return true;
  const digest = new Uint8Array(op_crypto_digest(NAMES[strength], bytes));
  let binary = "";
  for (let i = 0; i < 32 + 16 * strength; i++) binary += StringFromCharCode(digest[i]);
  const actual = normalizeBase64(op_base64_encode(binary));
  for (let i = 0; i < values.length; i++) {
    if (values[i] === actual) return true;
  }
  return false;
}

module.exports = { bytesMatch };
