// @ts-check
"use strict";
// How inspect.js writes: strings with their escapes, keys, numbers, and the layout of entries in lines. There is no
// spec; it looks like Node's util.inspect. Nothing here touches an object of an app.

const {
  ArrayPrototypeJoin, ArrayPrototypePush, NumberPrototypeToString, ObjectIs, StringPrototypeCharCodeAt,
  StringPrototypeIncludes, StringPrototypePadStart, StringPrototypeRepeat, StringPrototypeSlice, StringPrototypeStartsWith,
  StringPrototypeToUpperCase, SymbolPrototypeToString,
} = require("primordials");

const MAX_STRING = 10_000;
const LINE_WIDTH = 76;

/** Cuts a long string and says so. */
function truncate(text, max = MAX_STRING) {
  if (text.length <= max) return text;
  const left = text.length - max;
  return `${StringPrototypeSlice(text, 0, max)}... ${left} more character${left === 1 ? "" : "s"}`;
}

function hex(code, digits) {
  return StringPrototypePadStart(StringPrototypeToUpperCase(NumberPrototypeToString(code, 16)), digits, "0");
}

function escapeCode(code, next, previous) {
  switch (code) {
    case 0x08: return "\\b";
    case 0x09: return "\\t";
    case 0x0a: return "\\n";
    case 0x0c: return "\\f";
    case 0x0d: return "\\r";
    case 0x5c: return "\\\\";
  }
  if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return `\\x${hex(code, 2)}`;
  const lone = (code >= 0xd800 && code <= 0xdbff && !(next >= 0xdc00 && next <= 0xdfff)) ||
    (code >= 0xdc00 && code <= 0xdfff && !(previous >= 0xd800 && previous <= 0xdbff));
  return lone ? `\\u${hex(code, 4)}` : undefined;
}

/** In quotes: single ones, or those that need no escape. */
function quote(text) {
  const rest = text.length - MAX_STRING;
  if (rest > 0) text = StringPrototypeSlice(text, 0, MAX_STRING);
  let mark = "'";
  if (StringPrototypeIncludes(text, "'")) {
    if (!StringPrototypeIncludes(text, '"')) mark = '"';
    else if (!StringPrototypeIncludes(text, "`") && !StringPrototypeIncludes(text, "${")) mark = "`";
  }
  let out = mark;
  let done = 0;
  for (let i = 0; i < text.length; i++) {
    const code = StringPrototypeCharCodeAt(text, i);
    let escaped;
    if (code < 0x20 || code === 0x5c || code > 0x7e) {
      // NaN beyond either end compares as false.
      escaped = escapeCode(code, StringPrototypeCharCodeAt(text, i + 1), StringPrototypeCharCodeAt(text, i - 1));
    } else if (text[i] === mark) {
      escaped = `\\${mark}`;
    }
    if (escaped === undefined) continue;
    out += StringPrototypeSlice(text, done, i) + escaped;
    done = i + 1;
  }
  out += StringPrototypeSlice(text, done) + mark;
  return rest > 0 ? `${out}... ${rest} more character${rest === 1 ? "" : "s"}` : out;
}

function isIdentifier(text) {
  for (let i = 0; i < text.length; i++) {
    const code = StringPrototypeCharCodeAt(text, i);
    const letter = (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || code === 0x5f || code === 0x24;
    if (!letter && !(i > 0 && code >= 0x30 && code <= 0x39)) return false;
  }
  return text.length > 0;
}

function formatKey(key) {
  if (typeof key === "symbol") return `[${truncate(SymbolPrototypeToString(key))}]`;
  return isIdentifier(key) ? truncate(key) : quote(key);
}

/** Anything but an object or a function. */
function formatPrimitive(value) {
  switch (typeof value) {
    case "string": return quote(value);
    case "number": return ObjectIs(value, -0) ? "-0" : `${value}`;
    case "bigint": return `${truncate(`${value}`)}n`;
    case "symbol": return truncate(SymbolPrototypeToString(value));
    default: return `${value}`;
  }
}

function isOneLine(text) {
  return !StringPrototypeIncludes(text, "\n");
}

/**
 * Puts entries between brackets: on one line if they fit and nest less than four deep, else on one line each, but for
 * the many short items of a list, which fill their lines.
 */
function layout(prefix, open, close, entries, { indent, height, isList }) {
  const start = prefix === "" ? open : `${prefix} ${open}`;
  if (entries.length === 0) return `${start}${close}`;
  let total = start.length + indent + entries.length * 2;
  let longest = 0;
  let flat = true;
  // "... 3 more items" has a line of its own.
  const items = StringPrototypeStartsWith(entries[entries.length - 1], "... ") ? entries.length - 1 : entries.length;
  for (let i = 0; i < entries.length; i++) {
    total += entries[i].length;
    if (i < items && entries[i].length > longest) longest = entries[i].length;
    flat &&= isOneLine(entries[i]);
  }
  if (flat && height <= 3 && total <= LINE_WIDTH && !(isList && entries.length > 30)) {
    return `${start} ${ArrayPrototypeJoin(entries, ", ")} ${close}`;
  }
  const newline = `\n${StringPrototypeRepeat(" ", indent + 2)}`;
  let lines = entries;
  if (isList && flat && items > 6 && longest <= 16) {
    lines = [];
    let line = "";
    for (let i = 0; i < items; i++) {
      const item = StringPrototypePadStart(entries[i], longest);
      if (line !== "" && line.length + item.length + 2 > LINE_WIDTH - indent) {
        ArrayPrototypePush(lines, line);
        line = item;
      } else {
        line = line === "" ? item : `${line}, ${item}`;
      }
    }
    ArrayPrototypePush(lines, line);
    if (items < entries.length) ArrayPrototypePush(lines, entries[items]);
  }
  return `${start}${newline}${ArrayPrototypeJoin(lines, `,${newline}`)}\n${StringPrototypeRepeat(" ", indent)}${close}`;
}

module.exports = { MAX_STRING, truncate, quote, formatKey, formatPrimitive, layout };
