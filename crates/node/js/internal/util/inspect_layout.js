"use strict";
// How util.inspect lays out the entries of an object: on one line, on one line each, or many short ones in columns; and how
// it quotes strings. The rules are Node's, since programs and their tests compare the texts.

const OBJECT = 0, ARRAY = 1, ARRAY_EXTRAS = 2;

const COLORS = /\u001b\[\d\d?m/g;

function removeColors(text) {
  return text.includes("\u001b") ? text.replace(COLORS, "") : text;
}

/** How many columns a text takes in a terminal. */
function getStringWidth(text, mayHaveColors = true) {
  if (mayHaveColors) text = stripVTControlCharacters(text);
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of text.normalize("NFC")) {
    const point = character.codePointAt(0);
    if (isWide(point)) width += 2;
    else if (!isZeroWidth(point)) width++;
  }
  return width;
}

function isWide(point) {
  return point >= 0x1100 && (point <= 0x115f || point === 0x2329 || point === 0x232a ||
    (point >= 0x2e80 && point <= 0x3247 && point !== 0x303f) || (point >= 0x3250 && point <= 0x4dbf) ||
    (point >= 0x4e00 && point <= 0xa4c6) || (point >= 0xa960 && point <= 0xa97c) || (point >= 0xac00 && point <= 0xd7a3) ||
    (point >= 0xf900 && point <= 0xfaff) || (point >= 0xfe10 && point <= 0xfe19) || (point >= 0xfe30 && point <= 0xfe6b) ||
    (point >= 0xff01 && point <= 0xff60) || (point >= 0xffe0 && point <= 0xffe6) || (point >= 0x1b000 && point <= 0x1b001) ||
    (point >= 0x1f200 && point <= 0x1f251) || (point >= 0x1f300 && point <= 0x1f64f) || (point >= 0x1f900 && point <= 0x1f9ff) ||
    (point >= 0x20000 && point <= 0x3fffd));
}

function isZeroWidth(point) {
  return point <= 0x1f || (point >= 0x7f && point <= 0x9f) || (point >= 0x300 && point <= 0x36f) ||
    (point >= 0x200b && point <= 0x200f) || (point >= 0x20d0 && point <= 0x20ff) || (point >= 0xfe00 && point <= 0xfe0f) ||
    (point >= 0xfe20 && point <= 0xfe2f) || (point >= 0xe0100 && point <= 0xe01ef);
}

// Escape sequences of terminals: CSI, OSC and the like.
const CONTROL = /[\u001b\u009b][[\]()#;?]*(?:(?:(?:(?:;[-a-zA-Z\d/#&.:=?%@~_]+)*|[a-zA-Z\d]+(?:;[-a-zA-Z\d/#&.:=?%@~_]*)*)?(?:\u0007|\u001b\u005c|\u009c))|(?:(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-ntqry=><~]))/g;

function stripVTControlCharacters(text) {
  return text.includes("\u001b") || text.includes("\u009b") ? text.replace(CONTROL, "") : text;
}

const ESCAPES = { "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", "\\": "\\\\", "'": "\\'" };

function escapeOne(character) {
  const known = ESCAPES[character];
  if (known !== undefined) return known;
  const code = character.charCodeAt(0);
  return code < 0x100 ? `\\x${code.toString(16).toUpperCase().padStart(2, "0")}` : `\\u${code.toString(16)}`;
}

const LONE = "[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]";
const UNPRINTABLE = new RegExp(`[\\x00-\\x1f\\x5c\\x7f-\\x9f]|${LONE}`, "g");
const UNPRINTABLE_OR_QUOTE = new RegExp(`[\\x00-\\x1f\\x27\\x5c\\x7f-\\x9f]|${LONE}`, "g");

/** In single quotes; in others where that saves escapes. */
function quote(text) {
  let mark = "'";
  if (text.includes("'")) {
    if (!text.includes('"')) mark = '"';
    else if (!text.includes("`") && !text.includes("${")) mark = "`";
  }
  return mark + text.replace(mark === "'" ? UNPRINTABLE_OR_QUOTE : UNPRINTABLE, escapeOne) + mark;
}

/** For the description of a symbol. */
function escapeUnquoted(text) {
  return text.replace(UNPRINTABLE_OR_QUOTE, escapeOne);
}

/** Whether the entries, a space and a comma for each, fit a line behind what takes `start` columns. */
function fits(context, entries, start, base) {
  let total = entries.length + start;
  if (total + entries.length > context.breakLength) return false;
  for (let i = 0; i < entries.length; i++) {
    total += context.colors ? removeColors(entries[i]).length : entries[i].length;
    if (total > context.breakLength) return false;
  }
  return base === "" || !base.includes("\n");
}

/** Many short entries of a list as lines of columns; the same list where columns would not look well. */
function inColumns(context, entries, value) {
  // "... 1 more item" has a line of its own.
  const hasMore = context.maxArrayLength < entries.length;
  const count = hasMore ? entries.length - 1 : entries.length;
  const separator = 2;
  const widths = [];
  let total = 0, widest = 0;
  for (let i = 0; i < count; i++) {
    const width = getStringWidth(entries[i], context.colors);
    widths.push(width);
    total += width + separator;
    widest = Math.max(widest, width);
  }
  const column = widest + separator;
  const room = column * 3 + context.indentationLvl < context.breakLength;
  if (!room || !(total / column > 5 || widest <= 6)) return entries;
  // About a square, characters being two and a half times as high as wide; short entries get more columns.
  const bias = Math.max(column - 3 - Math.sqrt(column - total / entries.length), 1);
  const columns = Math.min(Math.round(Math.sqrt(2.5 * bias * count) / bias),
    Math.floor((context.breakLength - context.indentationLvl) / column), context.compact * 4, 15);
  if (columns <= 1) return entries;
  const columnWidths = Array.from({ length: columns }, (_, at) => {
    let most = 0;
    for (let i = at; i < count; i += columns) most = Math.max(most, widths[i]);
    return most + separator;
  });
  let numeric = value !== undefined;
  for (let i = 0; numeric && i < entries.length; i++) {
    numeric = typeof value[i] === "number" || typeof value[i] === "bigint";
  }
  const lines = [];
  for (let start = 0; start < count; start += columns) {
    const end = Math.min(start + columns, count);
    let line = "";
    for (let i = start; i < end; i++) {
      // Colors take no room.
      const width = columnWidths[i - start] + entries[i].length - widths[i];
      if (i < end - 1) line += numeric ? `${entries[i]}, `.padStart(width) : `${entries[i]}, `.padEnd(width);
      else line += numeric ? entries[i].padStart(width - separator) : entries[i];
    }
    lines.push(line);
  }
  if (hasMore) lines.push(entries[count]);
  return lines;
}

/** The whole text of an object. `depth` is its own, `context.currentDepth` that of the deepest in it. */
function layout(context, entries, base, [open, close], extras, depth, value) {
  const before = base === "" ? "" : `${base} `;
  const indent = " ".repeat(context.indentationLvl);
  if (context.compact === true) {
    if (fits(context, entries, 0, base)) return `${open}${base === "" ? "" : ` ${base}`} ${entries.join(", ")} ${close}`;
    const first = base === "" && open.length === 1 ? " " : `${base === "" ? "" : ` ${base}`}\n${indent}  `;
    return `${open}${first}${entries.join(`,\n${indent}  `)} ${close}`;
  }
  let lines = entries;
  if (typeof context.compact === "number" && context.compact >= 1) {
    if (extras === ARRAY_EXTRAS && entries.length > 6) lines = inColumns(context, entries, value);
    if (context.currentDepth - depth < context.compact && lines.length === entries.length) {
      const start = lines.length + context.indentationLvl + open.length + base.length + 10;
      if (fits(context, lines, start, base)) {
        const line = lines.join(", ");
        if (!line.includes("\n")) return `${before}${open} ${line} ${close}`;
      }
    }
  }
  return `${before}${open}\n${indent}  ${joined(lines, `,\n${indent}  `)}\n${indent}${close}`;
}

/** Joins by concatenation: V8 does not copy the texts, which for what is nested deep would be done again at each level. */
function joined(texts, separator) {
  let all = texts[0] ?? "";
  for (let i = 1; i < texts.length; i++) all += separator + texts[i];
  return all;
}

module.exports = {
  ARRAY, ARRAY_EXTRAS, OBJECT, escapeUnquoted, getStringWidth, layout, quote, removeColors, stripVTControlCharacters,
};
