// @ts-check
"use strict";
// MIME types (https://mimesniff.spec.whatwg.org/#understanding-mime-types), and what Fetch takes from a Content-Type
// header (https://fetch.spec.whatwg.org/#concept-header-extract-mime-type). No ops, no known deviations.
//
// A MIME type is { type, subtype, essence, parameters }, all in lower case, `parameters` a SafeMap of names to values.

const {
  ArrayPrototypePush, SafeMap, StringPrototypeCharCodeAt, StringPrototypeIndexOf, StringPrototypeSlice,
} = require("primordials");
const { asciiLowercase, isHttpToken, isHttpWhitespace, trimHttpWhitespace } = require("infra/bytes");

const QUOTE = 0x22, BACKSLASH = 0x5c, SEMICOLON = 0x3b, EQUALS = 0x3d, COMMA = 0x2c;

/** "HTTP quoted-string token code point": tab, and all of Latin-1 but controls. */
function isQuotedStringText(text) {
  for (let i = 0; i < text.length; i++) {
    const code = StringPrototypeCharCodeAt(text, i);
    if (!(code === 0x09 || (code >= 0x20 && code <= 0x7e) || (code >= 0x80 && code <= 0xff))) return false;
  }
  return true;
}

/** Where the first of two characters is, from `at` on; the end if it is nowhere. */
function seek(text, at, one, other) {
  while (at < text.length) {
    const code = StringPrototypeCharCodeAt(text, at);
    if (code === one || code === other) break;
    at++;
  }
  return at;
}

/**
 * "Collect an HTTP quoted string", from the quote at `at`.
 * @returns {{ value: string, end: number }} its text without quotes and escapes, and what comes after it
 */
function collectQuotedString(text, at) {
  let value = "";
  at++;
  for (;;) {
    const stop = seek(text, at, QUOTE, BACKSLASH);
    value += StringPrototypeSlice(text, at, stop);
    at = stop;
    if (at >= text.length) break;
    const code = StringPrototypeCharCodeAt(text, at++);
    if (code === QUOTE) break;
    if (at >= text.length) {
      value += "\\";
      break;
    }
    value += text[at++];
  }
  return { value, end: at };
}

function trimEnd(text) {
  let end = text.length;
  while (end > 0 && isHttpWhitespace(StringPrototypeCharCodeAt(text, end - 1))) end--;
  return StringPrototypeSlice(text, 0, end);
}

/** "Parse a MIME type"; null when it is none. */
function parseMimeType(input) {
  input = trimHttpWhitespace(input);
  const slash = StringPrototypeIndexOf(input, "/");
  if (slash < 0) return null;
  const type = asciiLowercase(StringPrototypeSlice(input, 0, slash));
  let at = seek(input, slash + 1, SEMICOLON, SEMICOLON);
  const subtype = asciiLowercase(trimEnd(StringPrototypeSlice(input, slash + 1, at)));
  if (!isHttpToken(type) || !isHttpToken(subtype)) return null;

  const parameters = new SafeMap();
  while (at < input.length) {
    at++; // the semicolon
    while (at < input.length && isHttpWhitespace(StringPrototypeCharCodeAt(input, at))) at++;
    const nameEnd = seek(input, at, SEMICOLON, EQUALS);
    const name = asciiLowercase(StringPrototypeSlice(input, at, nameEnd));
    at = nameEnd;
    if (at >= input.length) break;
    if (StringPrototypeCharCodeAt(input, at) === SEMICOLON) continue;
    at++; // the equals sign
    let value;
    if (at < input.length && StringPrototypeCharCodeAt(input, at) === QUOTE) {
      const quoted = collectQuotedString(input, at);
      value = quoted.value;
      at = seek(input, quoted.end, SEMICOLON, SEMICOLON);
    } else {
      const end = seek(input, at, SEMICOLON, SEMICOLON);
      value = trimEnd(StringPrototypeSlice(input, at, end)); // leading whitespace is part of it
      at = end;
      if (value === "") continue;
    }
    if (isHttpToken(name) && isQuotedStringText(value) && !parameters.has(name)) parameters.set(name, value);
  }
  return { __proto__: null, type, subtype, essence: `${type}/${subtype}`, parameters };
}

/** "Serialize a MIME type". */
function serializeMimeType(mimeType) {
  let text = mimeType.essence;
  mimeType.parameters.forEach((value, name) => {
    text += `;${name}=`;
    if (isHttpToken(value)) {
      text += value;
      return;
    }
    text += '"';
    for (let i = 0; i < value.length; i++) {
      const code = StringPrototypeCharCodeAt(value, i);
      if (code === QUOTE || code === BACKSLASH) text += "\\";
      text += value[i];
    }
    text += '"';
  });
  return text;
}

/** "Get, decode, and split" of a header's (combined) value: at commas outside of quoted strings. */
function splitHeaderValue(input) {
  const values = [];
  let at = 0;
  let start = 0;
  while (at < input.length) {
    at = seek(input, at, QUOTE, COMMA);
    if (at < input.length && StringPrototypeCharCodeAt(input, at) === QUOTE) {
      at = collectQuotedString(input, at).end;
      if (at < input.length) continue;
    }
    ArrayPrototypePush(values, trimTabOrSpace(StringPrototypeSlice(input, start, at)));
    if (at < input.length) {
      start = ++at;
      // A comma at the very end has an empty value after it.
      if (at === input.length) ArrayPrototypePush(values, "");
    }
  }
  if (input.length === 0) ArrayPrototypePush(values, "");
  return values;
}

function trimTabOrSpace(text) {
  let start = 0;
  let end = text.length;
  const blank = (code) => code === 0x20 || code === 0x09;
  while (start < end && blank(StringPrototypeCharCodeAt(text, start))) start++;
  while (end > start && blank(StringPrototypeCharCodeAt(text, end - 1))) end--;
  return StringPrototypeSlice(text, start, end);
}

/**
 * "Extract a MIME type" from the value of a Content-Type header, which may be several joined by commas.
 * @param {string | null} value null: there is no such header
 */
function extractMimeType(value) {
  if (value === null) return null;
  let charset = null;
  let essence = null;
  let mimeType = null;
  const values = splitHeaderValue(value);
  for (let i = 0; i < values.length; i++) {
    const next = parseMimeType(values[i]);
    if (next === null || next.essence === "*/*") continue;
    mimeType = next;
    if (mimeType.essence !== essence) {
      charset = mimeType.parameters.has("charset") ? mimeType.parameters.get("charset") : null;
      essence = mimeType.essence;
    } else if (!mimeType.parameters.has("charset") && charset !== null) {
      mimeType.parameters.set("charset", charset);
    }
  }
  return mimeType;
}

module.exports = { parseMimeType, serializeMimeType, extractMimeType, splitHeaderValue };
