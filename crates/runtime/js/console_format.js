// @ts-check
"use strict";
// The console's Formatter (https://console.spec.whatwg.org/#formatter): arguments as one text, %-specifiers included, and
// the boxes of console.table. Like inspect.js it calls nothing of the app's and has an upper bound.
//
// Deviation: %s does not call toString, nor %d valueOf, of an object: it is inspected, or NaN.

const {
  ArrayPrototypeIncludes, ArrayPrototypePush, MathMax, Number, ObjectKeys, SafeMap, StringPrototypeIndexOf,
  StringPrototypePadEnd, StringPrototypeRepeat, StringPrototypeSlice, SymbolPrototypeToString, parseFloat, parseInt,
  safeGetOwnPropertyDescriptor,
} = require("primordials");
const { isObject } = require("webidl");
const { MAX_TOTAL, inspect } = require("inspect");
const { formatPrimitive, truncate } = require("inspect_text");

function formatArgument(value, budget) {
  return typeof value === "string" ? truncate(value) : inspect(value, undefined, budget);
}

/** What stands in for one specifier; undefined: it is none, and stays as it is. */
function formatSpecifier(specifier, value, budget) {
  switch (specifier) {
    case "s":
      if (typeof value === "string") return truncate(value);
      if (typeof value === "symbol") return SymbolPrototypeToString(value);
      return isObject(value) ? inspect(value, 0, budget) : formatPrimitive(value);
    case "d":
    case "i":
    case "f":
      if (typeof value === "symbol" || isObject(value)) return "NaN";
      if (typeof value === "bigint") return formatPrimitive(value);
      return formatPrimitive(specifier === "d" ? Number(value) : specifier === "i" ? parseInt(value) : parseFloat(value));
    case "j":
    case "o":
    case "O":
      return inspect(value, undefined, budget);
    case "c":
      return ""; // style sheets have no place in a log
    default:
      return undefined;
  }
}

/** All arguments of one call as one text. */
function formatArguments(args) {
  let text = "";
  let next = 0;
  if (args.length > 1 && typeof args[0] === "string") {
    const template = args[0];
    let done = 0;
    next = 1;
    let at = 0;
    while ((at = StringPrototypeIndexOf(template, "%", at)) >= 0 && at + 1 < template.length) {
      const specifier = template[at + 1];
      let replacement;
      if (specifier === "%") replacement = "%";
      else if (next < args.length) replacement = formatSpecifier(specifier, args[next], MathMax(MAX_TOTAL - text.length, 0));
      if (replacement === undefined) {
        at++;
        continue;
      }
      if (specifier !== "%") next++;
      text += StringPrototypeSlice(template, done, at) + replacement;
      at += 2;
      done = at;
      if (text.length > MAX_TOTAL) break;
    }
    text += truncate(StringPrototypeSlice(template, done));
  }
  for (let i = next; i < args.length && text.length < MAX_TOTAL; i++) {
    text += `${i > 0 ? " " : ""}${formatArgument(args[i], MAX_TOTAL - text.length)}`;
  }
  return truncate(text, MAX_TOTAL);
}

// ---- Tables

const MAX_ROWS = 100, MAX_COLUMNS = 50;

/** An own property that is data; a getter is not called. */
function cell(object, key) {
  const desc = safeGetOwnPropertyDescriptor(object, key);
  if (desc === undefined) return "";
  return desc.get === undefined && desc.set === undefined ? inspect(desc.value, 0, 200) : "[Getter]";
}

/** The text of console.table; undefined when the data has no rows to speak of. May throw: a Proxy has traps. */
function formatTable(data, columns) {
  if (!isObject(data)) return undefined;
  const rows = ObjectKeys(data);
  const count = rows.length < MAX_ROWS ? rows.length : MAX_ROWS;
  const head = ["(index)"];
  const body = [];
  let hasValues = false;
  for (let i = 0; i < count; i++) {
    const desc = safeGetOwnPropertyDescriptor(data, rows[i]);
    const row = desc === undefined ? undefined : desc.value;
    const cells = new SafeMap();
    let value;
    if (isObject(row)) {
      const keys = columns === undefined ? ObjectKeys(row) : columns;
      for (let j = 0; j < keys.length && j < MAX_COLUMNS; j++) {
        if (!ArrayPrototypeIncludes(head, keys[j], 1)) {
          if (head.length > MAX_COLUMNS) continue;
          ArrayPrototypePush(head, keys[j]);
        }
        cells.set(keys[j], cell(row, keys[j]));
      }
    } else {
      value = inspect(row, 0, 200);
      hasValues = true;
    }
    ArrayPrototypePush(body, { __proto__: null, index: truncate(rows[i], 100), cells, value });
  }
  const lines = [];
  for (let i = 0; i < body.length; i++) {
    const { index, cells, value } = body[i];
    const line = [index];
    for (let j = 1; j < head.length; j++) ArrayPrototypePush(line, cells.has(head[j]) ? cells.get(head[j]) : "");
    if (hasValues) ArrayPrototypePush(line, value === undefined ? "" : value);
    ArrayPrototypePush(lines, line);
  }
  if (hasValues) ArrayPrototypePush(head, "Values");
  const text = draw(head, lines);
  return rows.length > count ? `${text}\n... ${rows.length - count} more rows` : text;
}

function draw(head, lines) {
  const widths = [];
  for (let j = 0; j < head.length; j++) {
    let width = head[j].length;
    for (let i = 0; i < lines.length; i++) width = MathMax(width, lines[i][j].length);
    ArrayPrototypePush(widths, width);
  }
  const rule = (left, middle, right) => {
    let text = left;
    for (let j = 0; j < widths.length; j++) {
      text += StringPrototypeRepeat("\u2500", widths[j] + 2) + (j + 1 < widths.length ? middle : right);
    }
    return text;
  };
  const row = (cells) => {
    let text = "\u2502";
    for (let j = 0; j < widths.length; j++) text += ` ${StringPrototypePadEnd(cells[j], widths[j])} \u2502`;
    return text;
  };
  let text = `${rule("\u250c", "\u252c", "\u2510")}\n${row(head)}\n${rule("\u251c", "\u253c", "\u2524")}\n`;
  for (let i = 0; i < lines.length; i++) text += `${row(lines[i])}\n`;
  return text + rule("\u2514", "\u2534", "\u2518");
}

module.exports = { formatArguments, formatTable };
