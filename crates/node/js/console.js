"use strict";
// node:console (https://nodejs.org/api/console.html): the runtime's console, which writes to the app's log, and the class
// Console, which writes to streams.

const { ERR_CONSOLE_WRITABLE_STREAM, ERR_INCOMPATIBLE_OPTION_PAIR } = require("internal/errors");
const { formatWithOptions } = require("internal/util/format");
const { inspect } = require("internal/util/inspect");
const { validateArray, validateInteger, validateObject, validateOneOf } = require("internal/validators");

const kWrite = Symbol("write");
const kState = Symbol("state");

function checkStream(stream, name) {
  if (stream === undefined || stream === null || typeof stream.write !== "function") throw new ERR_CONSOLE_WRITABLE_STREAM(name);
}

function Console(options) {
  if (!new.target) return Reflect.construct(Console, arguments);
  if (!options || typeof options.write === "function") {
    const [stdout, stderr = stdout, ignoreErrors] = arguments;
    options = { stdout, stderr, ignoreErrors };
  }
  const { stdout, stderr = stdout, ignoreErrors = true, colorMode = "auto", inspectOptions, groupIndentation = 2 } = options;
  checkStream(stdout, "stdout");
  checkStream(stderr, "stderr");
  validateOneOf(colorMode, "colorMode", ["auto", true, false]);
  validateInteger(groupIndentation, "groupIndentation", 0, 1000);
  if (inspectOptions !== undefined) {
    validateObject(inspectOptions, "options.inspectOptions");
    const perStream = inspectOptions instanceof Map ? [...inspectOptions.values()] : [inspectOptions];
    for (const one of perStream) {
      if (one?.colors !== undefined && options.colorMode !== undefined) {
        throw new ERR_INCOMPATIBLE_OPTION_PAIR("options.inspectOptions.color", "colorMode");
      }
    }
  }
  Object.defineProperties(this, {
    _stdout: { __proto__: null, value: stdout, writable: true, configurable: true },
    _stderr: { __proto__: null, value: stderr, writable: true, configurable: true },
    _stdoutErrorHandler: { __proto__: null, value: () => {}, writable: true, configurable: true },
    _stderrErrorHandler: { __proto__: null, value: () => {}, writable: true, configurable: true },
    _ignoreErrors: { __proto__: null, value: Boolean(ignoreErrors), writable: true, configurable: true },
    _times: { __proto__: null, value: new Map(), writable: true, configurable: true },
    [kState]: {
      __proto__: null, value: { colorMode, inspectOptions, groupIndentation, indent: "", counts: new Map() },
    },
  });
  // Methods work without their object, as those of the global console do.
  for (const key of Object.keys(Console.prototype)) {
    if (typeof this[key] !== "function") continue;
    const bound = this[key].bind(this);
    Object.defineProperty(bound, "name", { __proto__: null, value: key, configurable: true });
    this[key] = bound;
  }
}

function optionsFor(console, stream) {
  const { colorMode, inspectOptions } = console[kState];
  if (inspectOptions instanceof Map) return inspectOptions.get(stream) ?? {};
  if (inspectOptions !== undefined) return inspectOptions;
  if (colorMode === "auto") return { colors: Boolean(stream.isTTY) && (stream.getColorDepth?.() ?? 1) > 2 };
  return { colors: colorMode };
}

function elapsed(milliseconds) {
  if (milliseconds < 1000) return `${Number(milliseconds.toFixed(3))}ms`;
  const pad = (number) => `${number}`.padStart(2, "0");
  const hours = Math.floor(milliseconds / 3600000), minutes = Math.floor(milliseconds / 60000) % 60;
  const seconds = (milliseconds / 1000) % 60;
  if (hours > 0) return `${hours}:${pad(minutes)}:${pad(Math.floor(seconds))} (h:mm:ss)`;
  if (minutes > 0) return `${minutes}:${seconds.toFixed(3).padStart(6, "0")} (m:ss.mmm)`;
  return `${seconds.toFixed(3)}s`;
}

function warn(console, text) {
  const process = require("process");
  if (typeof process.emitWarning === "function") process.emitWarning(text);
  else console.warn(text);
}

const methods = {
  log(...args) { this[kWrite](this._stdout, formatWithOptions(optionsFor(this, this._stdout), ...args)); },
  warn(...args) { this[kWrite](this._stderr, formatWithOptions(optionsFor(this, this._stderr), ...args)); },
  error(...args) { this.warn(...args); },
  debug(...args) { this.log(...args); },
  info(...args) { this.log(...args); },
  dirxml(...args) { this.log(...args); },
  dir(object, options) {
    this[kWrite](this._stdout, inspect(object, { customInspect: false, ...optionsFor(this, this._stdout), ...options }));
  },
  trace(...args) {
    const holder = { name: "Trace", message: formatWithOptions(optionsFor(this, this._stderr), ...args) };
    Error.captureStackTrace(holder, this.trace);
    this.error(holder.stack.replace(/^\[?object Object\]?|^Error/, () => `Trace${holder.message ? `: ${holder.message}` : ""}`));
  },
  assert(condition, ...args) {
    if (condition) return;
    if (typeof args[0] === "string") args[0] = `Assertion failed: ${args[0]}`;
    else args.unshift("Assertion failed");
    this.warn(...args);
  },
  clear() {
    if (this._stdout.isTTY) this._stdout.write("\u001b[1;1H\u001b[0J");
  },
  count(label = "default") {
    const name = `${label}`;
    const { counts } = this[kState];
    counts.set(name, (counts.get(name) ?? 0) + 1);
    this.log(`${name}: ${counts.get(name)}`);
  },
  countReset(label = "default") {
    const name = `${label}`;
    const { counts } = this[kState];
    if (counts.has(name)) counts.set(name, 0);
    else warn(this, `Count for '${name}' does not exist`);
  },
  group(...args) {
    if (args.length > 0) this.log(...args);
    this[kState].indent += " ".repeat(this[kState].groupIndentation);
  },
  groupEnd() {
    const state = this[kState];
    state.indent = state.indent.slice(0, Math.max(0, state.indent.length - state.groupIndentation));
  },
  time(label = "default") {
    const name = `${label}`;
    if (this._times.has(name)) warn(this, `Label '${name}' already exists for console.time()`);
    else this._times.set(name, performance.now());
  },
  timeEnd(label = "default") {
    if (logTime(this, "timeEnd", label, [])) this._times.delete(`${label}`);
  },
  timeLog(label = "default", ...data) { logTime(this, "timeLog", label, data); },
  table(data, properties) {
    if (properties !== undefined) validateArray(properties, "properties");
    if (data === null || typeof data !== "object") return this.log(data);
    return this.log(require("internal/console_table").table(data, properties));
  },
};

function logTime(console, method, label, data) {
  const name = `${label}`;
  const start = console._times.get(name);
  if (start === undefined) {
    warn(console, `No such label '${name}' for console.${method}()`);
    return false;
  }
  console.log("%s: %s", name, elapsed(performance.now() - start), ...data);
  return true;
}

Object.assign(Console.prototype, methods);
Console.prototype.groupCollapsed = Console.prototype.group;
Object.defineProperty(Console.prototype, kWrite, {
  __proto__: null, writable: true, configurable: true,
  value(stream, text) {
    const { indent } = this[kState];
    const line = `${indent === "" ? text : indent + text.replaceAll("\n", `\n${indent}`)}\n`;
    if (!this._ignoreErrors) return stream.write(line);
    // A broken stream does not end the app that logs.
    const ignore = () => {};
    try {
      stream.once?.("error", ignore);
      stream.write(line, ignore);
    } catch (error) {
      if (error instanceof RangeError) throw error;
    } finally {
      stream.removeListener?.("error", ignore);
    }
  },
});
Object.defineProperty(Console, Symbol.hasInstance, {
  __proto__: null, value: (instance) => instance === globalThis.console || instance?.[kState] !== undefined,
});

/** The global console with the class: the methods are its own, so what an app puts there is called here, too. */
module.exports = Object.create(globalThis.console, { Console: { value: Console, writable: true, enumerable: true, configurable: true } });
for (const key of Object.keys(globalThis.console)) {
  Object.defineProperty(module.exports, key, {
    __proto__: null, enumerable: true, configurable: true,
    get: () => globalThis.console[key],
    set(value) { globalThis.console[key] = value; },
  });
}
