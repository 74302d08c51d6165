"use strict";
// node:assert (https://nodejs.org/api/assert.html).
//
// Deviations: a failed assert(value) without a message does not show the source of the call; CallTracker, which Node has
// removed, is not there.

const {
  ERR_AMBIGUOUS_ARGUMENT, ERR_CONSTRUCT_CALL_REQUIRED, ERR_INVALID_ARG_TYPE, ERR_INVALID_ARG_VALUE, ERR_INVALID_RETURN_VALUE,
  ERR_MISSING_ARGS,
} = require("internal/errors");
const { AssertionError } = require("internal/assert/assertion_error");
const { isDeepEqual, isDeepStrictEqual, isPartialStrictEqual } = require("internal/util/comparisons");
const { format } = require("internal/util/format");
const { inspect } = require("internal/util/inspect");
const { isError } = require("internal/util/inspect_errors");
const types = require("internal/util/types");
const { validateFunction, validateOneOf } = require("internal/validators");

const kOptions = Symbol("options");
const NOTHING_THROWN = {};

/** The text of a failure from what follows the values: an error is thrown itself, a function makes the text. */
function messageFrom(message, actual, expected) {
  const [first] = message;
  if (message.length === 0) return undefined;
  if (typeof first === "string") return message.length > 1 ? format(...message) : first;
  const trailing = (what) => new ERR_AMBIGUOUS_ARGUMENT("message",
    `The error message ${what} has trailing arguments that would be ignored.`);
  if (isError(first)) {
    if (message.length > 1) throw trailing(`was passed as error object "${Error.prototype.toString.call(first)}"`);
    throw first;
  }
  if (typeof first !== "function") {
    if (first === undefined) return undefined;
    throw new ERR_INVALID_ARG_TYPE("message", ["string", "function"], first);
  }
  if (message.length > 1) throw trailing(`with function "${first.name || "anonymous"}"`);
  try {
    const text = first(actual, expected);
    return typeof text === "string" ? text : undefined;
  } catch {
    return undefined;
  }
}

function failWith(test, { actual, expected, message, operator, generatedMessage = undefined }, self) {
  const error = new AssertionError({
    actual, expected, message: messageFrom(message, actual, expected), operator: operator ?? test.name, stackStartFn: test,
    diff: self?.[kOptions]?.diff,
  });
  if (generatedMessage !== undefined) error.generatedMessage = generatedMessage;
  throw error;
}

function checkOk(test, args, self) {
  const [value, ...message] = args;
  if (value) return;
  let generatedMessage = false;
  if (args.length === 0) {
    generatedMessage = true;
    message[0] = "No value argument passed to `assert.ok()`";
  } else if (message.length === 0 || message[0] === undefined || message[0] === null) {
    generatedMessage = true;
    message[0] = "The expression evaluated to a falsy value:\n\n  " +
      `${test === assert ? "assert" : "assert.ok"}(${inspect(value, { depth: 0 })})\n`;
  }
  failWith(test, { actual: value, expected: true, message, operator: "==", generatedMessage }, self);
}

function assert(...args) {
  checkOk(assert, args);
}

function Assert(options) {
  if (!new.target) throw new ERR_CONSTRUCT_CALL_REQUIRED("Assert");
  options = { __proto__: null, strict: true, skipPrototype: false, ...options };
  if (options.diff !== undefined) validateOneOf(options.diff, "options.diff", ["simple", "full"]);
  this.AssertionError = AssertionError;
  Object.defineProperty(this, kOptions, { __proto__: null, value: options });
  if (!options.strict) return;
  this.equal = this.strictEqual;
  this.deepEqual = this.deepStrictEqual;
  this.notEqual = this.notStrictEqual;
  this.notDeepEqual = this.notDeepStrictEqual;
}

function needTwo(args) {
  if (args.length < 2) throw new ERR_MISSING_ARGS("actual", "expected");
}

const skips = (self) => self?.[kOptions]?.skipPrototype === true;

/** A method that compares two values. */
function comparison(name, operator, holds) {
  const method = {
    [name](actual, expected, ...message) {
      needTwo(arguments);
      if (!holds(actual, expected, this)) failWith(method, { actual, expected, message, operator }, this);
    },
  }[name];
  return method;
}

// eslint-disable-next-line eqeqeq
const looselyEqual = (left, right) => left == right || (Number.isNaN(left) && Number.isNaN(right));

const methods = {
  fail: function fail(message) {
    if (isError(message)) throw message;
    const error = new AssertionError({
      operator: "fail", stackStartFn: fail, message: message === undefined ? "Failed" : message, diff: this?.[kOptions]?.diff,
    });
    if (message === undefined) error.generatedMessage = true;
    throw error;
  },
  ok: function ok(...args) { checkOk(ok, args, this); },
  equal: comparison("equal", "==", looselyEqual),
  notEqual: comparison("notEqual", "!=", (left, right) => !looselyEqual(left, right)),
  deepEqual: comparison("deepEqual", "deepEqual", (left, right) => isDeepEqual(left, right)),
  notDeepEqual: comparison("notDeepEqual", "notDeepEqual", (left, right) => !isDeepEqual(left, right)),
  deepStrictEqual: comparison("deepStrictEqual", "deepStrictEqual", (left, right, self) =>
    isDeepStrictEqual(left, right, skips(self))),
  notDeepStrictEqual: comparison("notDeepStrictEqual", "notDeepStrictEqual", (left, right, self) =>
    !isDeepStrictEqual(left, right, skips(self))),
  strictEqual: comparison("strictEqual", "strictEqual", Object.is),
  notStrictEqual: comparison("notStrictEqual", "notStrictEqual", (left, right) => !Object.is(left, right)),
  partialDeepStrictEqual: comparison("partialDeepStrictEqual", "partialDeepStrictEqual", isPartialStrictEqual),
  throws: function throws(fn, ...args) { expectError(throws, thrownBy(fn), args, this); },
  rejects: async function rejects(promise, ...args) { expectError(rejects, await rejectionOf(promise), args, this); },
  doesNotThrow: function doesNotThrow(fn, ...args) { expectNone(doesNotThrow, thrownBy(fn), args, this); },
  doesNotReject: async function doesNotReject(promise, ...args) {
    expectNone(doesNotReject, await rejectionOf(promise), args, this);
  },
  ifError: function ifError(error) {
    if (error === null || error === undefined) return;
    let message = "ifError got unwanted exception: ";
    if (typeof error === "object" && typeof error.message === "string") {
      message += error.message === "" && error.constructor ? error.constructor.name : error.message;
    } else {
      message += inspect(error);
    }
    const wrapped = new AssertionError({
      actual: error, expected: null, operator: "ifError", message, stackStartFn: ifError, diff: this?.[kOptions]?.diff,
    });
    const start = typeof error.stack === "string" ? error.stack.indexOf("\n    at") : -1;
    if (start >= 0) {
      // The frames of the error go on where those of this call leave off.
      const frames = error.stack.slice(start + 1).split("\n");
      const own = wrapped.stack.split("\n");
      const shared = frames.map((frame) => own.indexOf(frame)).find((at) => at >= 0);
      wrapped.stack = [...(shared === undefined ? own : own.slice(0, shared)), ...frames].join("\n");
    }
    throw wrapped;
  },
  match: function match(text, pattern, ...message) { checkMatch(match, text, pattern, message, true, this); },
  doesNotMatch: function doesNotMatch(text, pattern, ...message) {
    checkMatch(doesNotMatch, text, pattern, message, false, this);
  },
};

function checkMatch(test, text, pattern, message, wanted, self) {
  if (!types.isRegExp(pattern)) throw new ERR_INVALID_ARG_TYPE("regexp", "RegExp", pattern);
  if (typeof text === "string" && (RegExp.prototype.exec.call(pattern, text) !== null) === wanted) return;
  const generatedMessage = message.length === 0;
  if (!message[0]) {
    const not = wanted ? "The input did not match the regular expression " : "The input was expected to not match the regular expression ";
    message[0] = typeof text !== "string"
      ? `The "string" argument must be of type string. Received type ${typeof text} (${inspect(text)})`
      : `${not}${inspect(pattern)}. Input:\n\n${inspect(text)}\n`;
  }
  failWith(test, { actual: text, expected: pattern, message, generatedMessage }, self);
}

// ---- Exceptions

function thrownBy(fn) {
  validateFunction(fn, "fn");
  try {
    fn();
  } catch (error) {
    return error;
  }
  return NOTHING_THROWN;
}

async function rejectionOf(given) {
  const isPromise = (value) => types.isPromise(value) ||
    (value !== null && typeof value === "object" && typeof value.then === "function" && typeof value.catch === "function");
  let promise = given;
  if (typeof given === "function") {
    promise = given();
    if (!isPromise(promise)) throw new ERR_INVALID_RETURN_VALUE("instance of Promise", "promiseFn", promise);
  } else if (!isPromise(given)) {
    throw new ERR_INVALID_ARG_TYPE("promiseFn", ["Function", "Promise"], given);
  }
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return NOTHING_THROWN;
}

function expectError(test, actual, args, self) {
  let [expected, message] = args;
  if (typeof expected === "string") {
    if (args.length === 2) {
      throw new ERR_INVALID_ARG_TYPE("error", ["Object", "Error", "Function", "RegExp"], expected);
    }
    const same = typeof actual === "object" && actual !== null ? actual.message === expected : actual === expected;
    if (same) {
      const what = typeof actual === "object" ? `error message "${actual.message}"` : `error "${actual}"`;
      throw new ERR_AMBIGUOUS_ARGUMENT("error/message", `The ${what} is identical to the message.`);
    }
    [expected, message] = [undefined, expected];
  } else if (expected !== undefined && expected !== null && typeof expected !== "object" && typeof expected !== "function") {
    throw new ERR_INVALID_ARG_TYPE("error", ["Object", "Error", "Function", "RegExp"], expected);
  }
  if (actual === NOTHING_THROWN) {
    const kind = test.name === "rejects" ? "rejection" : "exception";
    const details = `${expected?.name ? ` (${expected.name})` : ""}${message ? `: ${message}` : "."}`;
    failWith(test, { actual: undefined, expected, message: [`Missing expected ${kind}${details}`] }, self);
  }
  if (expected) checkError(test, actual, expected, message, self);
}

function checkError(test, actual, expected, message, self) {
  const failure = (text) => {
    const error = new AssertionError({
      actual, expected, message: message || text, operator: test.name, stackStartFn: test, diff: self?.[kOptions]?.diff,
    });
    error.generatedMessage = !message;
    return error;
  };
  if (types.isRegExp(expected)) {
    const text = String(actual);
    if (RegExp.prototype.exec.call(expected, text) !== null) return;
    throw failure(`The input did not match the regular expression ${inspect(expected)}. Input:\n\n${inspect(text)}\n`);
  }
  if (typeof expected !== "function") return checkMembers(test, actual, expected, message, self);
  if (expected.prototype !== undefined && actual instanceof expected) return;
  if (Object.prototype.isPrototypeOf.call(Error, expected)) throw failure(wrongClass(actual, expected));
  const result = Reflect.apply(expected, {}, [actual]);
  if (result === true) return;
  const name = expected.name ? `"${expected.name}" ` : "";
  const caught = isError(actual) ? `\n\nCaught error:\n\n${actual}` : "";
  throw failure(`The ${name}validation function is expected to return "true". Received ${inspect(result)}${caught}`);
}

function wrongClass(actual, expected) {
  const start = `The error is expected to be an instance of "${expected.name}". Received `;
  if (!isError(actual)) return `${start}"${inspect(actual, { depth: -1 })}"`;
  const name = actual.constructor?.name || actual.name;
  const what = expected.name === name ? "an error with identical name but a different prototype." : `"${name}"`;
  return `${start}${what}${actual.message ? `\n\nError message:\n\n${actual.message}` : ""}`;
}

/** The members of an error that are compared; what a pattern of the expected matches counts as the same. */
class Comparison {
  constructor(object, keys, actual) {
    for (const key of keys) {
      if (!(key in object)) continue;
      const fits = actual !== undefined && typeof actual[key] === "string" && types.isRegExp(object[key]) &&
        RegExp.prototype.exec.call(object[key], actual[key]) !== null;
      this[key] = fits ? actual[key] : object[key];
    }
  }
}

function checkMembers(test, actual, expected, message, self) {
  const diff = self?.[kOptions]?.diff;
  if (typeof actual !== "object" || actual === null) {
    const error = new AssertionError({ actual, expected, message, operator: "deepStrictEqual", stackStartFn: test, diff });
    error.operator = test.name;
    throw error;
  }
  const keys = Object.keys(expected);
  if (expected instanceof Error) keys.push("name", "message");
  else if (keys.length === 0) throw new ERR_INVALID_ARG_VALUE("error", expected, "may not be an empty object");
  for (const key of keys) {
    const wanted = expected[key];
    if (typeof actual[key] === "string" && types.isRegExp(wanted) && RegExp.prototype.exec.call(wanted, actual[key]) !== null) continue;
    if (key in actual && isDeepStrictEqual(actual[key], wanted)) continue;
    if (message) failWith(test, { actual, expected, message: [message] }, self);
    const error = new AssertionError({
      actual: new Comparison(actual, keys), expected: new Comparison(expected, keys, actual), operator: "deepStrictEqual",
      stackStartFn: test, diff,
    });
    Object.assign(error, { actual, expected, operator: test.name });
    throw error;
  }
}

function expectNone(test, actual, args, self) {
  if (actual === NOTHING_THROWN) return;
  let [expected, message] = args;
  if (typeof expected === "string") [expected, message] = [undefined, expected];
  if (expected && !isExpected(actual, expected)) throw actual;
  const kind = test.name === "doesNotReject" ? "rejection" : "exception";
  failWith(test, {
    actual, expected,
    message: [`Got unwanted ${kind}${message ? `: ${message}` : "."}\nActual message: "${actual?.message}"`],
  }, self);
}

function isExpected(actual, expected) {
  if (types.isRegExp(expected)) return RegExp.prototype.exec.call(expected, String(actual)) !== null;
  if (typeof expected !== "function") throw new ERR_INVALID_ARG_TYPE("expected", ["Function", "RegExp"], expected);
  if (expected.prototype !== undefined && actual instanceof expected) return true;
  return !Object.prototype.isPrototypeOf.call(Error, expected) && Reflect.apply(expected, {}, [actual]) === true;
}

Object.assign(Assert.prototype, methods);
Object.assign(assert, methods, { AssertionError, Assert });

function strict(...args) {
  checkOk(strict, args);
}
assert.strict = Object.assign(strict, assert, {
  equal: assert.strictEqual, deepEqual: assert.deepStrictEqual, notEqual: assert.notStrictEqual,
  notDeepEqual: assert.notDeepStrictEqual, Assert,
});
assert.strict.strict = assert.strict;

module.exports = assert;
