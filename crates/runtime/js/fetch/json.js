// @ts-check
"use strict";
// JSON bodies, for workers that read many. The natives (src/ops/json.rs, crates/json) turn the text
// of a body into a tape of numbers, on which an object is the number of the function that makes
// such objects, and a string that came before is the number of its slot in the cache. Walking it
// makes the same value as JSON.parse in half the time, once V8 has optimised this code: the first
// bodies of a worker, and all unsupported ones, go to JSON.parse.
//
// Nothing here runs code of an app or looks anything up on objects that an app can change: literals
// define their members, and arrays are written only where they have elements.

const { ArrayFrom, ArrayIsArray, ArrayPrototypeToSpliced, Float64Array, Int32Array, JSONParse } = require("primordials");
const { op_body_json, op_body_text, op_json_text } = require("ops");

// As crates/json/src/tape.rs has them. A kind is the lowest three bits of an entry. The last one, of constants, is 6.
const INTEGER = 0, KEPT = 1, FRESH = 2, NUMBER = 3, OBJECT = 4, ARRAY = 5;
const TRUE = 1, NULL = 2;
const ENTRIES = 4096, NUMBERS = 1024, PLACES = 512, MAX_MAKERS = 64, LONGEST = 65536;

/** A worker that has read this many will read more. */
const MANY = 64;
/** Most arrays are no longer than this. */
const FEW = 64;

/** How many were read, as far as it matters. */
let count = 0;

/** @type {any} The tape, which Rust writes. */
let entries;
/** @type {any} */
let numbers;
/** @type {any} The strings that are kept, and the functions that make objects; Rust puts them in. */
let kept;
/** @type {any} */
let makers;
/** @type {any} The strings of this tape that are not kept. */
let fresh;
/** @type {any} What arrays are copied from, so that they have all their elements before one is written. */
let zeros;
/** What is read next. */
let at = 0;

/** Whether the worker has read so many that the tape is worth its while. */
function readsMany() {
  if (entries !== undefined) return true;
  if (count++ < MANY) return false;
  numbers = new Float64Array(NUMBERS);
  zeros = filled(FEW, 0);
  kept = filled(PLACES, "");
  makers = filled(MAX_MAKERS, read);
  entries = new Int32Array(ENTRIES);
  return true;
}

/** An array with all its elements. Array.from defines them; fill, or new elements of any array, would run setters of an app. */
function filled(length, value) {
  return ArrayFrom({ __proto__: null, length }, () => value);
}

/** All of a native body: what jsonFromTaken wants, or a promise of the text. */
function takeJson(body) {
  return readsMany() ? op_body_json(body, entries, numbers, kept, makers, read) : op_body_text(body);
}

/** Whether it is not a promise that takeJson has given. */
function isTaken(taken) {
  return typeof taken !== "object" || ArrayIsArray(taken);
}

function jsonFromTaken(taken) {
  return typeof taken === "string" ? JSONParse(taken) : readTape(taken);
}

/** The value of a text, which must be well-formed. */
function jsonFromText(text) {
  if (text.length > LONGEST || !readsMany()) return JSONParse(text);
  const taken = op_json_text(text, entries, numbers, kept, makers, read);
  return taken === undefined ? JSONParse(text) : readTape(taken);
}

/** `strings` are those that are not kept, if there are any. */
function readTape(strings) {
  at = 0;
  fresh = strings;
  const value = read();
  fresh = undefined;
  return value;
}

function read() {
  const entry = entries[at++];
  const kind = entry & 7;
  const value = entry >> 3;
  if (kind === KEPT) return kept[value];
  if (kind === INTEGER) return value;
  if (kind === NUMBER) return numbers[value];
  return readOther(kind, value);
}

function readOther(kind, value) {
  if (kind === OBJECT) return makers[value]();
  if (kind === ARRAY) return readArray(value);
  if (kind === FRESH) return fresh[value];
  return value === NULL ? null : value === TRUE;
}

function readArray(length) {
  switch (length) {
    case 0: return [];
    case 1: return [read()];
    case 2: return [read(), read()];
    case 3: return [read(), read(), read()];
    case 4: return [read(), read(), read(), read()];
    case 5: return [read(), read(), read(), read(), read()];
    case 6: return [read(), read(), read(), read(), read(), read()];
    case 7: return [read(), read(), read(), read(), read(), read(), read()];
    case 8: return [read(), read(), read(), read(), read(), read(), read(), read()];
  }
  if (length > zeros.length) zeros = filled(ENTRIES, 0);
  const list = ArrayPrototypeToSpliced(zeros, length);
  for (let i = 0; i < length; i++) list[i] = read();
  return list;
}

module.exports = { takeJson, isTaken, jsonFromTaken, jsonFromText };
