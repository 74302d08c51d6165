"use strict";
// assert.AssertionError (https://nodejs.org/api/assert.html#class-assertassertionerror): what was expected, what there is, and
// the lines in which the two differ.
//
// Deviation: the texts have no colors, as in a Node whose output is no terminal.

const { inspect } = require("internal/util/inspect");
const { kIsNodeError } = require("internal/errors");
const { validateObject } = require("internal/validators");

const READABLE = {
  deepStrictEqual: "Expected values to be strictly deep-equal:",
  partialDeepStrictEqual: "Expected values to be partially and strictly deep-equal:",
  strictEqual: "Expected values to be strictly equal:",
  strictEqualObject: 'Expected "actual" to be reference-equal to "expected":',
  deepEqual: "Expected values to be loosely deep-equal:",
  notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
  notStrictEqual: 'Expected "actual" to be strictly unequal to:',
  notStrictEqualObject: 'Expected "actual" not to be reference-equal to "expected":',
  notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
  notIdentical: "Values have same structure but are not reference-equal:",
  notDeepEqualUnequal: "Expected values not to be loosely deep-equal:",
};
const WITH_DIFF = new Set(["deepStrictEqual", "strictEqual", "partialDeepStrictEqual"]);
/** Equal lines in a row that are shown; of more, only the last. */
const SHOWN_EQUAL = 5;

function isObject(value) {
  return value !== null && typeof value === "object";
}

/** Whatever the defaults of inspect are: all of the value, a line for each part, in an order of its own. */
function inspectValue(value) {
  return inspect(value, {
    compact: false, customInspect: false, depth: 1000, maxArrayLength: Infinity, maxStringLength: Infinity,
    showHidden: false, showProxy: false, sorted: true, getters: true, colors: false, breakLength: 128,
  });
}

/** Two values that take a line each. */
function shortDiff(actual, shownActual, expected, shownExpected) {
  const quotes = (value) => (typeof value === "string" ? 2 : 0);
  const length = shownActual.length + shownExpected.length - quotes(actual) - quotes(expected);
  if (length <= 12 && (actual !== 0 || expected !== 0)) return { header: "", text: `${shownActual} !== ${shownExpected}` };
  let text = `\n+ ${shownActual}\n- ${shownExpected}`;
  if (typeof actual === "string" && typeof expected === "string" && shownActual.length + shownExpected.length <= 80) {
    let at = 0;
    while (at < shownActual.length && shownActual[at] === shownExpected[at]) at++;
    if (at >= 3 && at < shownActual.length) text += `\n${" ".repeat(at + 2)}^`;
  }
  return { header: undefined, text };
}

function longDiff(actualLines, expectedLines, ignoreCommas) {
  const { DELETE, INSERT, NOP, myersDiff } = require("internal/util/diff");
  const same = !ignoreCommas ? undefined : (left, right) => left === right || `${left},` === right || left === `${right},`;
  // Of two lines that differ by a comma, the one that has it.
  const pick = (left, right) => (ignoreCommas && !left.endsWith(",") ? right : left);
  const out = [];
  let equal = [];
  let skipped = false;
  const flush = () => {
    const hidden = equal.length - SHOWN_EQUAL;
    for (const line of equal.slice(0, SHOWN_EQUAL)) out.push(`  ${line}`);
    if (hidden > 2) {
      out.push("...", `  ${equal[equal.length - 1]}`);
      skipped = true;
    } else {
      for (const line of equal.slice(SHOWN_EQUAL)) out.push(`  ${line}`);
    }
    equal = [];
  };
  for (const [operation, line] of myersDiff(actualLines, expectedLines, same, pick)) {
    if (operation === NOP) {
      equal.push(line);
      continue;
    }
    flush();
    if (operation === INSERT) out.push(`+ ${line}`);
    if (operation === DELETE) out.push(`- ${line}`);
  }
  // What is equal at the end is cut without a word.
  for (const line of equal.slice(0, SHOWN_EQUAL)) out.push(`  ${line}`);
  return { text: `\n${out.join("\n").trimEnd()}`, skipped };
}

function createDiff(actual, expected, operator, message, kind) {
  if (operator === "strictEqual" && ((isObject(actual) && isObject(expected)) ||
    (typeof actual === "function" && typeof expected === "function"))) operator = "strictEqualObject";
  const [shownActual, shownExpected] = [inspectValue(actual), inspectValue(expected)];
  const [actualLines, expectedLines] = [shownActual.split("\n"), shownExpected.split("\n")];
  let header = "+ actual - expected", skipped = false, text;
  if (actualLines.length === 1 && expectedLines.length === 1 && (!isObject(actual) || !isObject(expected))) {
    const short = shortDiff(actual, shownActual, expected, shownExpected);
    header = short.header ?? header;
    ({ text } = short);
  } else if (shownActual === shownExpected) {
    operator = "notIdentical";
    header = "";
    skipped = actualLines.length > 50 && kind !== "full";
    text = skipped ? `${actualLines.slice(0, 50).join("\n")}\n...}` : shownActual;
  } else {
    ({ text, skipped } = longDiff(actualLines, expectedLines, isObject(actual)));
  }
  return `${message || READABLE[operator]}\n${header}${skipped ? "\n... Skipped lines" : ""}\n${text}\n`;
}

/** The message of operators that have no diff. */
function createMessage(actual, expected, operator, kind) {
  if (operator === "notDeepStrictEqual" || operator === "notStrictEqual") {
    let base = READABLE[operator];
    if (operator === "notStrictEqual" && (isObject(actual) || typeof actual === "function")) base = READABLE.notStrictEqualObject;
    let lines = inspectValue(actual).split("\n");
    if (lines.length > 50 && kind !== "full") lines = [...lines.slice(0, 46), "..."];
    if (lines.length === 1) return `${base}${lines[0].length > 5 ? "\n\n" : " "}${lines[0]}`;
    return `${base}\n\n${lines.join("\n")}\n`;
  }
  const cut = (text, most) => (text.length > most && kind !== "full" ? `${text.slice(0, most - 3)}...` : text);
  const [left, right] = [inspectValue(actual), inspectValue(expected)];
  if (operator === "notDeepEqual" && left === right) return cut(`${READABLE.notDeepEqual}\n\n${left}`, 1024);
  const [shown, other] = [cut(left, 512), cut(right, 512)];
  if (operator === "deepEqual") return `${READABLE.deepEqual}\n\n${shown}\n\nshould loosely deep-equal\n\n${other}`;
  const unequal = READABLE[`${operator}Unequal`];
  if (unequal !== undefined) return `${unequal}\n\n${shown}\n\nshould not loosely deep-equal\n\n${other}`;
  return `${shown} ${operator} ${other}`;
}

/** An error without its stack, so that two are compared by what they say. */
function copyError(source) {
  const copy = Object.assign(Object.create(Object.getPrototypeOf(source)), source);
  Object.defineProperty(copy, "message", { __proto__: null, value: source.message });
  if (Object.hasOwn(source, "cause")) {
    const cause = source.cause instanceof Error ? copyError(source.cause) : source.cause;
    Object.defineProperty(copy, "cause", { __proto__: null, value: cause });
  }
  return copy;
}

function messageOf({ message, operator, diff = "simple" }, actual, expected) {
  if (WITH_DIFF.has(operator)) return createDiff(actual, expected, operator, message, diff);
  return message !== undefined && message !== null ? String(message) : createMessage(actual, expected, operator, diff);
}

class AssertionError extends Error {
  constructor(options) {
    validateObject(options, "options");
    let { actual, expected } = options;
    const { message, operator, stackStartFn, stackStartFunction, details, diff = "simple" } = options;
    const bothErrors = actual instanceof Error && expected instanceof Error;
    if (bothErrors && (message === undefined || message === null)) {
      [actual, expected] = [copyError(actual), copyError(expected)];
    }
    super(messageOf(options, actual, expected));
    this.generatedMessage = !message;
    Object.defineProperty(this, "name", {
      __proto__: null, value: "AssertionError", enumerable: false, writable: true, configurable: true,
    });
    this.code = "ERR_ASSERTION";
    if (details) {
      Object.assign(this, { actual: undefined, expected: undefined, operator: undefined });
      for (const [i, detail] of details.entries()) {
        this[`message ${i}`] = detail.message;
        this[`actual ${i}`] = detail.actual;
        this[`expected ${i}`] = detail.expected;
        this[`operator ${i}`] = detail.operator;
        this[`stack trace ${i}`] = detail.stack;
      }
    } else {
      Object.assign(this, { actual, expected, operator });
    }
    Object.defineProperty(this, kIsNodeError, { __proto__: null, value: true, configurable: true });
    Error.captureStackTrace(this, stackStartFn || stackStartFunction);
    this.diff = diff;
  }

  toString() {
    return `${this.name} [${this.code}]: ${this.message}`;
  }

  [inspect.custom](_depth, context) {
    // Long texts are in the message already.
    const { actual, expected } = this;
    const cut = (value) => {
      if (typeof value !== "string") return value;
      const lines = value.split("\n", 11);
      if (lines.length > 10) return `${lines.slice(0, 10).join("\n")}\n...`;
      return value.length > 512 ? `${value.slice(0, 512)}...` : value;
    };
    this.actual = cut(actual);
    this.expected = cut(expected);
    const text = inspect(this, { ...context, customInspect: false, depth: 0 });
    this.actual = actual;
    this.expected = expected;
    return text;
  }
}

module.exports = { AssertionError };
