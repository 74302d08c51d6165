"use strict";
// console.table: the rows of a list, a map or a set as a table of characters.

const { entriesOf } = binding("util");
const { inspect } = require("internal/util/inspect");
const { getStringWidth } = require("internal/util/inspect_layout");
const types = require("internal/util/types");

const INDEX = "(index)", ITERATION = "(iteration index)", KEY = "Key", VALUES = "Values";

function shown(value) {
  const isObject = value !== null && (typeof value === "object" || typeof value === "function");
  const depth = isObject && Array.isArray(value) && value.length > 2 ? -1 : isObject && Object.keys(value).length > 2 ? -1 : 0;
  return inspect(value, { maxArrayLength: 3, breakLength: Infinity, colors: false, depth });
}

function table(data, properties) {
  const rows = [];
  let first = INDEX, keyed = false;
  if (types.isMap(data)) {
    first = ITERATION;
    keyed = true;
    for (const [key, value] of data) rows.push({ index: rows.length, key, value });
  } else if (types.isSet(data)) {
    first = ITERATION;
    for (const value of data) rows.push({ index: rows.length, value });
  } else if (types.isMapIterator(data) || types.isSetIterator(data)) {
    // As far as the iterator has not gone; it stays where it is.
    first = ITERATION;
    const [list, pairs] = entriesOf(data);
    keyed = pairs;
    for (let i = 0; i < list.length; i += pairs ? 2 : 1) {
      rows.push(pairs ? { index: rows.length, key: list[i], value: list[i + 1] } : { index: rows.length, value: list[i] });
    }
  } else {
    for (const index of Object.keys(data)) rows.push({ index, value: data[index] });
  }
  const columns = properties?.map(String) ?? [];
  let hasValues = first === ITERATION;
  for (const { value } of rows) {
    const isRow = value !== null && typeof value === "object" && first === INDEX;
    if (properties !== undefined) continue;
    if (!isRow) hasValues = true;
    else for (const key of Object.keys(value)) if (!columns.includes(key)) columns.push(key);
  }
  const head = [first, ...(keyed ? [KEY] : []), ...columns, ...(hasValues ? [VALUES] : [])];
  const body = rows.map(({ index, key, value }) => {
    const isRow = value !== null && typeof value === "object" && first === INDEX;
    const cells = columns.map((column) =>
      (isRow && Object.hasOwn(value, column) ? shown(value[column]) : ""));
    return [`${index}`, ...(keyed ? [shown(key)] : []), ...cells, ...(hasValues ? [isRow ? "" : shown(value)] : [])];
  });
  return draw(head, body);
}

function draw(head, body) {
  const widths = head.map((title, i) => Math.max(...[title, ...body.map((row) => row[i])].map((cell) => getStringWidth(cell))) + 2);
  const rule = (left, middle, right) => left + widths.map((width) => "\u2500".repeat(width)).join(middle) + right;
  const line = (cells) => `\u2502${cells.map((cell, i) =>
    ` ${cell}${" ".repeat(widths[i] - getStringWidth(cell) - 1)}`).join("\u2502")}\u2502`;
  return [
    rule("\u250c", "\u252c", "\u2510"), line(head), rule("\u251c", "\u253c", "\u2524"), ...body.map(line),
    rule("\u2514", "\u2534", "\u2518"),
  ].join("\n");
}

module.exports = { table };
