"use strict";
// node:util (https://nodejs.org/api/util.html). inspect, format and types are in internal/util; what is large and rarely
// used (parseArgs, MIMEType) loads when it is first asked for.
//
// Deviations: debuglog writes for no section, since there is no NODE_DEBUG but that of the app's own environment; getCallSites
// knows no source maps.

const {
  ERR_FALSY_VALUE_REJECTION, ERR_INVALID_ARG_TYPE, ERR_INVALID_ARG_VALUE, ERR_OUT_OF_RANGE, ErrnoException,
  ExceptionWithHostPort,
} = require("internal/errors");
const { byNumber } = require("internal/system_errors");
const { format, formatWithOptions } = require("internal/util/format");
const { inspect } = require("internal/util/inspect");
const { stripVTControlCharacters: stripControl } = require("internal/util/inspect_layout");
const types = require("internal/util/types");
const {
  validateAbortSignal, validateBoolean, validateFunction, validateInteger, validateNumber, validateObject,
  validateString,
} = require("internal/validators");

// ---- Promises and callbacks

const kPromisify = Symbol.for("nodejs.util.promisify.custom");
const kArgumentNames = Symbol.for("hearth.promisifyArguments");

function promisify(original) {
  validateFunction(original, "original");
  const custom = original[kPromisify];
  if (custom) {
    validateFunction(custom, "util.promisify.custom");
    return Object.defineProperty(custom, kPromisify, {
      __proto__: null, value: custom, enumerable: false, writable: false, configurable: true,
    });
  }
  // Functions of several results (fs.read) name them.
  const names = original[kArgumentNames];
  function promisified(...args) {
    return new Promise((resolve, reject) => {
      Reflect.apply(original, this, [...args, (error, ...values) => {
        if (error) reject(error);
        else if (names !== undefined && values.length > 1) resolve(Object.fromEntries(names.map((name, i) => [name, values[i]])));
        else resolve(values[0]);
      }]);
    });
  }
  Object.setPrototypeOf(promisified, Object.getPrototypeOf(original));
  Object.defineProperty(promisified, kPromisify, {
    __proto__: null, value: promisified, enumerable: false, writable: false, configurable: true,
  });
  const descriptors = Object.getOwnPropertyDescriptors(original);
  for (const key of Reflect.ownKeys(descriptors)) Object.setPrototypeOf(descriptors[key], null);
  return Object.defineProperties(promisified, descriptors);
}
promisify.custom = kPromisify;

function callbackify(original) {
  validateFunction(original, "original");
  function callbackified(...args) {
    const callback = args.pop();
    validateFunction(callback, "last argument");
    const done = (...values) => queueMicrotaskOutside(() => Reflect.apply(callback, this, values));
    Reflect.apply(original, this, args).then(
      (value) => done(null, value),
      (reason) => done(reason || new ERR_FALSY_VALUE_REJECTION(reason)),
    );
  }
  const descriptors = Object.getOwnPropertyDescriptors(original);
  if (typeof descriptors.length.value === "number") descriptors.length.value++;
  if (typeof descriptors.name.value === "string") descriptors.name.value += "Callbackified";
  for (const key of Reflect.ownKeys(descriptors)) Object.setPrototypeOf(descriptors[key], null);
  return Object.defineProperties(callbackified, descriptors);
}

/** What the callback throws is not a rejection of the promise. */
function queueMicrotaskOutside(run) {
  require("process").nextTick(run);
}

// ---- Classes and deprecations

function inherits(constructor, superConstructor) {
  if (constructor === undefined || constructor === null) throw new ERR_INVALID_ARG_TYPE("ctor", "Function", constructor);
  if (superConstructor === undefined || superConstructor === null) {
    throw new ERR_INVALID_ARG_TYPE("superCtor", "Function", superConstructor);
  }
  if (superConstructor.prototype === undefined) {
    throw new ERR_INVALID_ARG_TYPE("superCtor.prototype", "Object", superConstructor.prototype);
  }
  Object.defineProperty(constructor, "super_", {
    __proto__: null, value: superConstructor, writable: true, configurable: true,
  });
  Object.setPrototypeOf(constructor.prototype, superConstructor.prototype);
}

const warned = new Set();

function deprecate(fn, message, code, { modifyPrototype = true } = {}) {
  if (code !== undefined) validateString(code, "code");
  const process = require("process");
  let done = false;
  const warn = () => {
    if (done || process.noDeprecation === true) return;
    done = true;
    if (code !== undefined && warned.has(code)) return;
    if (code !== undefined) warned.add(code);
    process.emitWarning(message, "DeprecationWarning", code, deprecated);
  };
  function deprecated(...args) {
    warn();
    if (new.target) return Reflect.construct(fn, args, new.target === deprecated ? fn : new.target);
    return Reflect.apply(fn, this, args);
  }
  Object.setPrototypeOf(deprecated, fn);
  if (modifyPrototype && fn.prototype) deprecated.prototype = fn.prototype;
  for (const key of ["length", "name"]) {
    const desc = Object.getOwnPropertyDescriptor(fn, key);
    if (desc !== undefined) Object.defineProperty(deprecated, key, Object.setPrototypeOf(desc, null));
  }
  return deprecated;
}

// ---- Logging by section

function debuglog(section, callback) {
  const name = `${section}`.toUpperCase();
  const patterns = `${require("process").env?.NODE_DEBUG ?? ""}`.toUpperCase().split(",").filter(Boolean);
  const fits = (pattern) => new RegExp(`^${pattern.replace(/[|\\{}()[\]^$+?.]/g, "\\$&").replaceAll("*", ".*")}$`).test(name);
  const enabled = patterns.some(fits);
  const log = (...args) => {
    if (enabled) console.error(`${name} ${require("process").pid}: ${format(...args)}`);
  };
  if (typeof callback === "function") callback(log);
  return Object.defineProperty(log, "enabled", { __proto__: null, get: () => enabled, enumerable: true, configurable: true });
}

// ---- Text

function stripVTControlCharacters(text) {
  validateString(text, "str");
  return stripControl(text);
}

function toUSVString(value) {
  return `${value}`.toWellFormed();
}

function styleText(style, text, options = {}) {
  validateString(text, "text");
  validateObject(options, "options");
  const { validateStream = true, stream = undefined } = options;
  validateBoolean(validateStream, "options.validateStream");
  const formats = Array.isArray(style) ? style : [style];
  let left = "", right = "", inner = text;
  for (const name of formats) {
    if (name === "none") continue;
    const hex = typeof name === "string" && /^#(?:[0-9a-f]{3}){1,2}$/i.test(name) ? hexColor(name) : undefined;
    const codes = hex ?? (typeof name === "string" && Object.hasOwn(inspect.colors, name) ? inspect.colors[name] : undefined);
    if (codes === undefined) {
      const reason = typeof name === "string" && name.startsWith("#") ? "must be a valid hex color (#RGB or #RRGGBB)"
        : `must be one of: ${Object.keys(inspect.colors).map((key) => `'${key}'`).join(", ")}`;
      throw new ERR_INVALID_ARG_VALUE("format", style, reason);
    }
    const [open, close] = [`\u001b[${codes[0]}m`, `\u001b[${codes[1]}m`];
    // A style within ends this one: it goes on after that.
    const again = codes[0] === 1 || codes[0] === 2 ? `${close}${open}` : open;
    const end = inner.length - close.length;
    inner = inner.replaceAll(close, (found, at) => (at === end ? found : again));
    left += open;
    right = close + right;
  }
  if (validateStream && stream !== undefined) {
    if (stream === null || typeof stream !== "object" || (typeof stream.write !== "function" && typeof stream.pipe !== "function" &&
      typeof stream.getReader !== "function" && typeof stream.getWriter !== "function")) {
      throw new ERR_INVALID_ARG_TYPE("stream", ["ReadableStream", "WritableStream", "Stream"], stream);
    }
  }
  if (validateStream) {
    const { env } = require("process");
    if (env.FORCE_COLOR === undefined && (env.NO_COLOR !== undefined || env.NODE_DISABLE_COLORS !== undefined)) return text;
    if (stream !== undefined && env.FORCE_COLOR === undefined && stream.isTTY !== true) return text;
  }
  return `${left}${inner}${right}`;
}

/** "#f80" or "#ff8800" as the codes of a terminal. */
function hexColor(hex) {
  const digits = hex.length === 4 ? hex.slice(1).replace(/./g, "$&$&") : hex.slice(1);
  const parts = [0, 2, 4].map((at) => Number.parseInt(digits.slice(at, at + 2), 16));
  return [`38;2;${parts.join(";")}`, 39];
}

/** The variables of a text in the format of .env files. */
function parseEnv(content) {
  validateString(content, "content");
  const values = { __proto__: null };
  const line = /^[ \t]*(?:export[ \t]+)?([^\s=#]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\[^])*)"|'([^']*)'|`([^`]*)`|([^#\r\n]*))?[ \t]*(?:#.*)?$/gm;
  for (const [, name, double, single, back, plain] of content.matchAll(line)) {
    values[name] = double?.replaceAll("\\n", "\n") ?? single ?? back ?? (plain ?? "").trim();
  }
  return values;
}

function diff(actual, expected) {
  for (const [name, value] of [["actual", actual], ["expected", expected]]) {
    if (typeof value !== "string" && !(Array.isArray(value) && value.every((item) => typeof item === "string"))) {
      throw new ERR_INVALID_ARG_TYPE(name, ["Array", "string"], value);
    }
  }
  return require("internal/util/diff").diff(actual, expected);
}

// ---- System errors

function getSystemErrorName(number) {
  validateSystemError(number);
  return byNumber.get(number)?.[0] ?? `Unknown system error ${number}`;
}

function getSystemErrorMessage(number) {
  validateSystemError(number);
  return byNumber.get(number)?.[1];
}

function validateSystemError(number) {
  validateNumber(number, "err");
  if (number >= 0 || !Number.isSafeInteger(number)) throw new ERR_OUT_OF_RANGE("err", "a negative integer", number);
}

// ---- Signals

/** Resolves when the signal is aborted; the resource keeps it waiting only while it lives. */
async function aborted(signal, resource) {
  if (signal === undefined) throw new ERR_INVALID_ARG_TYPE("signal", "AbortSignal", signal);
  validateAbortSignal(signal, "signal");
  validateObject(resource, "resource", 6);
  if (signal.aborted) return undefined;
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function transferableAbortSignal(signal) {
  if (!(signal instanceof AbortSignal)) throw new ERR_INVALID_ARG_TYPE("signal", "AbortSignal", signal);
  return signal;
}

function getCallSites(count = 8, options = undefined) {
  if (typeof count === "object" && options === undefined) [count, options] = [8, count];
  if (options !== undefined) {
    validateObject(options, "options");
    if (options.sourceMap !== undefined) validateBoolean(options.sourceMap, "options.sourceMap");
  }
  validateInteger(count, "frameCount", 1, 200);
  const { prepareStackTrace, stackTraceLimit } = Error;
  const holder = {};
  try {
    Error.stackTraceLimit = count;
    Error.prepareStackTrace = (_, sites) => sites;
    Error.captureStackTrace(holder, getCallSites);
    return holder.stack.map((site) => ({
      functionName: site.getFunctionName() ?? "", scriptId: `${site.getScriptNameOrSourceURL?.() ?? ""}`,
      scriptName: site.getFileName() ?? "", lineNumber: site.getLineNumber(), columnNumber: site.getColumnNumber(),
      column: site.getColumnNumber(),
    }));
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    if (prepareStackTrace === undefined) delete Error.prepareStackTrace;
    else Error.prepareStackTrace = prepareStackTrace;
  }
}

function setTraceSigInt(enable) {
  validateBoolean(enable, "enable");
}

function _exceptionWithHostPort(...args) {
  const error = new ExceptionWithHostPort(...args);
  Error.captureStackTrace(error, _exceptionWithHostPort);
  return error;
}

function _extend(target, source) {
  if (source === null || typeof source !== "object") return target;
  return Object.assign(target, source);
}

module.exports = {
  TextDecoder, TextEncoder, _errnoException: (...args) => new ErrnoException(...args),
  _exceptionWithHostPort, _extend, aborted, callbackify, debug: debuglog,
  debuglog, deprecate, diff, format, formatWithOptions, getCallSites, getSystemErrorMap: () => new Map(byNumber),
  getSystemErrorMessage, getSystemErrorName, inherits, inspect, isArray: Array.isArray,
  isDeepStrictEqual(left, right, options = undefined) {
    const skip = typeof options === "boolean" ? options : options?.skipPrototype === true;
    return require("internal/util/comparisons").isDeepStrictEqual(left, right, skip);
  },
  parseEnv, promisify, setTraceSigInt, stripVTControlCharacters, styleText, toUSVString, transferableAbortSignal,
  transferableAbortController: () => new AbortController(), types,
};
for (const [name, load] of [
  ["parseArgs", () => require("internal/util/parse_args").parseArgs], ["MIMEType", () => require("internal/util/mime").MIMEType],
  ["MIMEParams", () => require("internal/util/mime").MIMEParams],
]) {
  Object.defineProperty(module.exports, name, {
    __proto__: null, enumerable: true, configurable: true, get: load,
    set(value) { Object.defineProperty(this, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true }); },
  });
}
