"use strict";
// Node's errors (https://nodejs.org/api/errors.html): a constructor for each code of `error_messages.js`, made when it is
// first asked for, and the classes of system errors:
//
//   const { ERR_INVALID_ARG_TYPE } = require("internal/errors");
//   throw new ERR_INVALID_ARG_TYPE("path", "string", path);
//
// `codes` has the same constructors, as have variants of another class: `ERR_INVALID_STATE.RangeError`. Frames of built-in
// files are never in a stack, so `hideStackFrames` and `HideStackFramesError` have nothing to hide.

const { determineSpecificType, formatList, messages } = require("internal/error_messages");
const { byNumber, numbers } = require("internal/system_errors");

/** Marks errors whose stack begins with "TypeError [ERR_CODE]: message"; the runtime's stack traces know it. */
const kIsNodeError = Symbol.for("hearth.nodeError");

function define(object, key, value) {
  Object.defineProperty(object, key, { __proto__: null, value, enumerable: false, writable: true, configurable: true });
}

function formatMessage(text, values, error) {
  if (typeof text === "function") return Reflect.apply(text, error, values);
  let next = 0;
  return text.replace(/%[sdj]/g, (place) => {
    if (next >= values.length) return place;
    const value = values[next++];
    return place === "%j" ? JSON.stringify(value) : place === "%d" ? `${Number(value)}` : String(value);
  });
}

function makeClass(code, Base, text) {
  // A function, not a class: the instance is a plain error of `Base` with some properties more, and its stack begins where
  // it was made.
  function NodeError(...values) {
    const limit = Error.stackTraceLimit;
    const limited = Reflect.set(Error, "stackTraceLimit", 0);
    const error = new Base();
    if (limited) Error.stackTraceLimit = limit;
    Error.captureStackTrace(error, NodeError);
    define(error, "message", formatMessage(text, values, error));
    define(error, "toString", toStringWithCode);
    define(error, kIsNodeError, true);
    error.code = code;
    return error;
  }
  Object.defineProperty(NodeError, Symbol.hasInstance, {
    __proto__: null, value: (error) => error?.[kIsNodeError] === true && error.code === code,
  });
  define(NodeError, "HideStackFramesError", NodeError);
  return NodeError;
}

function toStringWithCode() {
  return `${this.name} [${this.code}]: ${this.message}`;
}

const codes = Object.setPrototypeOf({}, new Proxy({ __proto__: null }, {
  get(_, code) {
    const entry = messages[code];
    if (entry === undefined) return undefined;
    const [Base, text, ...others] = entry;
    const made = makeClass(code, Base, text);
    for (const Other of others) define(made, Other.name, makeClass(code, Other, text));
    define(codes, code, made);
    return made;
  },
  has: (_, code) => code in messages,
}));

/** Adds a code: for tests, and for errors of one module alone. */
function E(code, text, Base, ...others) {
  messages[code] = [Base, text, ...others];
}

class AbortError extends Error {
  constructor(message = "The operation was aborted", options = undefined) {
    if (options !== undefined && typeof options !== "object") {
      throw new codes.ERR_INVALID_ARG_TYPE("options", "Object", options);
    }
    super(message, options);
    this.code = "ABORT_ERR";
    this.name = "AbortError";
  }
}

/** The name and the text of a negative number. */
function uvErrmapGet(number) {
  return byNumber.get(number);
}

function nameOf(number) {
  return byNumber.get(number)?.[0] ?? `Unknown system error ${number}`;
}

/** A base whose instances have Error as their constructor, so that they are shown as an Error. */
class PlainError extends Error {
  get ["constructor"]() { return Error; }
}

/** "ENOENT: no such file or directory, open 'path'" from { errno, syscall, path, dest }. */
class UVException extends PlainError {
  constructor(context) {
    const [code, text] = uvErrmapGet(context.errno) ?? ["UNKNOWN", "unknown error"];
    let message = `${code}: ${context.message || text}, ${context.syscall}`;
    if (context.path) message += ` '${context.path}'`;
    if (context.dest) message += ` -> '${context.dest}'`;
    super(message);
    for (const key of Object.keys(context)) {
      if (key !== "message" && key !== "path" && key !== "dest") this[key] = context[key];
    }
    this.code = code;
    if (context.path) this.path = `${context.path}`;
    if (context.dest) this.dest = `${context.dest}`;
  }
}

class UVExceptionWithHostPort extends PlainError {
  constructor(number, syscall, address, port) {
    const [code, text] = uvErrmapGet(number) ?? ["UNKNOWN", "unknown error"];
    super(`${syscall} ${code}: ${text}${port > 0 ? ` ${address}:${port}` : address ? ` ${address}` : ""}`);
    Object.assign(this, { code, errno: number, syscall, address });
    if (port) this.port = port;
  }
}

/** "connect ECONNREFUSED 127.0.0.1:80" */
class ExceptionWithHostPort extends PlainError {
  constructor(number, syscall, address, port, additional) {
    const code = nameOf(number);
    let details = port > 0 ? ` ${address}:${port}` : address ? ` ${address}` : "";
    if (additional) details += ` - Local (${additional})`;
    super(`${syscall} ${code}${details}`);
    Object.assign(this, { errno: number, code, syscall, address });
    if (port) this.port = port;
  }
}

class ErrnoException extends PlainError {
  constructor(number, syscall, original) {
    const code = nameOf(number);
    super(original ? `${syscall} ${code} ${original}` : `${syscall} ${code}`);
    Object.assign(this, { errno: number, code, syscall });
  }
}

/** "getaddrinfo ENOTFOUND host"; the code is a c-ares name or a libuv number. */
class DNSException extends PlainError {
  constructor(code, syscall, hostname) {
    let errno;
    if (typeof code === "number") {
      errno = code;
      code = code === numbers.get("EAI_NODATA") || code === numbers.get("EAI_NONAME") ? "ENOTFOUND" : nameOf(code);
    }
    super(`${syscall} ${code}${hostname ? ` ${hostname}` : ""}`);
    Object.assign(this, { errno, code, syscall });
    if (hostname) this.hostname = hostname;
  }
}

class ConnResetException extends PlainError {
  constructor(message) {
    super(message);
    this.code = "ECONNRESET";
  }
}

class NodeAggregateError extends AggregateError {
  constructor(errors, message) {
    super(errors, message);
    this.code = errors[0]?.code;
  }
  get ["constructor"]() { return AggregateError; }
}

/** One error of two: the outer with the inner among its errors. */
function aggregateTwoErrors(inner, outer) {
  if (!inner || !outer || inner === outer) return inner || outer;
  if (Array.isArray(outer.errors)) {
    outer.errors.push(inner);
    return outer;
  }
  const error = new AggregateError([outer, inner], outer.message);
  error.code = outer.code;
  return error;
}

function hideStackFrames(fn) {
  fn.withoutStackTrace = fn;
  return fn;
}

function genericNodeError(message, properties) {
  return Object.assign(new Error(message), properties);
}

function isStackOverflowError(error) {
  return error instanceof RangeError && error.message === "Maximum call stack size exceeded";
}

// A code is found on the prototype, and then on `codes`.
module.exports = Object.setPrototypeOf({
  AbortError, ConnResetException, DNSException, E, ErrnoException, ExceptionWithHostPort, NodeAggregateError, UVException,
  UVExceptionWithHostPort, aggregateTwoErrors, codes, determineSpecificType, formatList, genericNodeError,
  hideStackFrames, isStackOverflowError, kIsNodeError, uvErrmapGet,
}, codes);
