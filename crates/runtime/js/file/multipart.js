// @ts-check
"use strict";
// multipart/form-data: written as https://html.spec.whatwg.org/#multipart-form-data says, read per RFC 7578 in the form
// in which browsers and curl write it. Strict: CRLF only, a name for every part, no nesting, no transfer encodings
// (RFC 7578 deprecates them) and no `filename*`. Percent-encoded are only the three characters that browsers encode.

const {
  ArrayPrototypePush, StringPrototypeCharCodeAt, StringPrototypeIndexOf, StringPrototypeSlice,
  StringPrototypeToLowerCase, StringPrototypeTrim, TypeError, TypedArrayPrototypeIndexOf, Uint8Array,
} = require("primordials");
const { op_crypto_random, op_text_decode, op_text_encode } = require("ops");
const { concatBytes } = require("infra/bytes");
const { blobBytes, blobType, fileFromBytes, fileName, isFile, lengthOf, view } = require("file/blob");

const MAX_PARTS = 1000;
const MAX_HEADER_BYTES = 16 * 1024;
const CR = 0x0d;
const LF = 0x0a;
const DASH = 0x2d;
const QUOTE = 0x22;

// ---- Writing

function newBoundary() {
  const random = new Uint8Array(16);
  op_crypto_random(random);
  const digits = "0123456789abcdef";
  let boundary = "----HearthFormBoundary";
  for (let i = 0; i < 16; i++) boundary += digits[random[i] >> 4] + digits[random[i] & 15];
  return boundary;
}

/** Every CR, LF or CRLF becomes CRLF. */
function normalizeNewlines(text) {
  let result = "";
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const code = StringPrototypeCharCodeAt(text, i);
    if (code !== CR && code !== LF) continue;
    result += `${StringPrototypeSlice(text, from, i)}\r\n`;
    if (code === CR && StringPrototypeCharCodeAt(text, i + 1) === LF) i++;
    from = i + 1;
  }
  return from === 0 ? text : result + StringPrototypeSlice(text, from);
}

/** For names between quotes. */
function escapeName(text) {
  let result = "";
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const code = StringPrototypeCharCodeAt(text, i);
    if (code !== CR && code !== LF && code !== QUOTE) continue;
    result += StringPrototypeSlice(text, from, i) + (code === CR ? "%0D" : code === LF ? "%0A" : "%22");
    from = i + 1;
  }
  return from === 0 ? text : result + StringPrototypeSlice(text, from);
}

/** The body of a FormData's entries. */
function serializeMultipart(entries, boundary) {
  const parts = [];
  let text = "";
  for (let i = 0; i < entries.length; i += 2) {
    const value = entries[i + 1];
    text += `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(normalizeNewlines(entries[i]))}"`;
    if (isFile(value)) {
      const type = blobType(value) === "" ? "application/octet-stream" : blobType(value);
      text += `; filename="${escapeName(fileName(value))}"\r\nContent-Type: ${type}\r\n\r\n`;
      ArrayPrototypePush(parts, op_text_encode(text), blobBytes(value));
      text = "\r\n";
    } else {
      text += `\r\n\r\n${normalizeNewlines(value)}\r\n`;
    }
  }
  ArrayPrototypePush(parts, op_text_encode(`${text}--${boundary}--\r\n`));
  return concatBytes(parts);
}

// ---- Reading

function fail(problem) {
  return new TypeError(`Invalid multipart/form-data body: ${problem}`);
}

function startsWith(bytes, at, needle) {
  const length = lengthOf(needle);
  if (at + length > lengthOf(bytes)) return false;
  for (let i = 0; i < length; i++) {
    if (bytes[at + i] !== needle[i]) return false;
  }
  return true;
}

/** Where `needle` is, which begins with CR, or -1. */
function find(bytes, needle, from) {
  for (let at = TypedArrayPrototypeIndexOf(bytes, CR, from); at >= 0; at = TypedArrayPrototypeIndexOf(bytes, CR, at + 1)) {
    if (startsWith(bytes, at, needle)) return at;
  }
  return -1;
}

function isCrLf(bytes, at) {
  return bytes[at] === CR && bytes[at + 1] === LF;
}

/** The end of the line that begins at `from`: where its CRLF is, or -1. */
function lineEnd(bytes, from, limit) {
  for (let at = from; at < limit; at++) {
    if (bytes[at] === LF) return -1;
    if (bytes[at] === CR) return isCrLf(bytes, at) ? at : -1;
  }
  return -1;
}

function unescapeName(text) {
  let result = "";
  let from = 0;
  for (let at = StringPrototypeIndexOf(text, "%"); at >= 0; at = StringPrototypeIndexOf(text, "%", at + 1)) {
    const code = StringPrototypeSlice(text, at + 1, at + 3);
    const char = code === "22" ? '"' : code === "0D" || code === "0d" ? "\r" : code === "0A" || code === "0a" ? "\n" : "";
    if (char === "") continue;
    result += StringPrototypeSlice(text, from, at) + char;
    from = at + 3;
  }
  return from === 0 ? text : result + StringPrototypeSlice(text, from);
}

/** form-data; name="a"; filename="b" */
function parseDisposition(text, part) {
  let at = StringPrototypeIndexOf(text, ";");
  const type = StringPrototypeTrim(at < 0 ? text : StringPrototypeSlice(text, 0, at));
  if (StringPrototypeToLowerCase(type) !== "form-data") throw fail("a part's content-disposition is not form-data");
  while (at >= 0 && at < text.length) {
    const equals = StringPrototypeIndexOf(text, "=", at);
    if (equals < 0) {
      if (StringPrototypeTrim(StringPrototypeSlice(text, at + 1)) !== "") throw fail("bad content-disposition");
      break;
    }
    const key = StringPrototypeToLowerCase(StringPrototypeTrim(StringPrototypeSlice(text, at + 1, equals)));
    let value;
    if (StringPrototypeCharCodeAt(text, equals + 1) === QUOTE) {
      const close = StringPrototypeIndexOf(text, '"', equals + 2);
      if (close < 0) throw fail("a quote that is not closed");
      value = unescapeName(StringPrototypeSlice(text, equals + 2, close));
      at = StringPrototypeIndexOf(text, ";", close + 1);
      const between = StringPrototypeSlice(text, close + 1, at < 0 ? undefined : at);
      if (StringPrototypeTrim(between) !== "") throw fail("bad content-disposition");
    } else {
      at = StringPrototypeIndexOf(text, ";", equals + 1);
      value = StringPrototypeTrim(StringPrototypeSlice(text, equals + 1, at < 0 ? undefined : at));
    }
    if (key === "name") part.name = value;
    else if (key === "filename") part.filename = value;
  }
}

/** Reads the headers that begin at `from` into `part`; returns where the part's content begins. */
function parseHeaders(bytes, from, part) {
  const limit = from + MAX_HEADER_BYTES;
  for (;;) {
    if (isCrLf(bytes, from)) return from + 2;
    const end = lineEnd(bytes, from, limit < lengthOf(bytes) ? limit : lengthOf(bytes));
    if (end < 0) throw fail("a part's headers are too long, or do not end");
    const line = op_text_decode("utf-8", view(bytes, from, end - from), false, true);
    const colon = StringPrototypeIndexOf(line, ":");
    if (colon <= 0) throw fail("a header without a name");
    const name = StringPrototypeToLowerCase(StringPrototypeSlice(line, 0, colon));
    const value = StringPrototypeTrim(StringPrototypeSlice(line, colon + 1));
    if (name === "content-disposition") parseDisposition(value, part);
    else if (name === "content-type") part.type = value;
    from = end + 2;
  }
}

/**
 * @param {Uint8Array} bytes which are not written to any more: files share them
 * @param {string | undefined} boundary
 * @returns {any[]} entries of a FormData
 */
function parseMultipart(bytes, boundary) {
  if (boundary === undefined || boundary === "" || boundary.length > 70) throw fail("no boundary, or a wrong one");
  const delimiter = op_text_encode(`\r\n--${boundary}`);
  const entries = [];
  let at = 0;
  // The first delimiter has no CRLF before it; some clients write one all the same.
  while (isCrLf(bytes, at)) at += 2;
  if (!startsWith(bytes, at, view(delimiter, 2, lengthOf(delimiter) - 2))) throw fail("it does not begin with the boundary");
  at += lengthOf(delimiter) - 2;
  for (;;) {
    if (bytes[at] === DASH && bytes[at + 1] === DASH) return entries;
    while (bytes[at] === 0x20 || bytes[at] === 0x09) at++;
    if (!isCrLf(bytes, at)) throw fail("something after a boundary");
    if (entries.length >= 2 * MAX_PARTS) throw fail(`more than ${MAX_PARTS} parts`);
    const part = { __proto__: null, name: undefined, filename: undefined, type: undefined };
    const from = parseHeaders(bytes, at + 2, part);
    if (part.name === undefined) throw fail("a part without a name");
    const end = find(bytes, delimiter, from);
    if (end < 0) throw fail("a part without an end");
    const content = view(bytes, from, end - from);
    ArrayPrototypePush(entries, part.name, part.filename === undefined
      ? op_text_decode("utf-8", content, false, true)
      : fileFromBytes(content, part.filename, part.type === undefined ? "text/plain" : part.type));
    at = end + lengthOf(delimiter);
  }
}

module.exports = { newBoundary, serializeMultipart, parseMultipart };
