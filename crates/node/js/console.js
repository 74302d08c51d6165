"use strict";
// node:console (https://nodejs.org/api/console.html): the runtime's console, which writes to the app's log, and the class
// Console, which writes to streams. When the global console does so, too: internal/console_global.

const { console } = binding("process");
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
    _stdoutErrorHandler: { __proto__: null, value: errorHandler(() => this._stdout), writable: true, configurable: true },
    _stderrErrorHandler: { __proto__: null, value: errorHandler(() => this._stderr), writable: true, configurable: true },
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

const nothing = () => {};

/** Called when a write is done: a stream emits its error after that. */
function errorHandler(streamOf) {
  return (error) => {
    const stream = streamOf();
    if (error && !stream._writableState?.errorEmitted && stream.listenerCount?.("error") === 0) stream.once("error", nothing);
  };
}

function isStackOverflow(error) {
  return error instanceof RangeError && error.message === "Maximum call stack size exceeded";
}

function optionsFor(console, stream) {
  const { colorMode, inspectOptions } = console[kState];
  const given = inspectOptions instanceof Map ? inspectOptions.get(stream) : inspectOptions;
  if (given?.colors !== undefined) return given;
  const colors = colorMode === "auto" ? Boolean(stream.isTTY) && (stream.getColorDepth?.() ?? 3) > 2 : colorMode;
  return given === undefined ? { colors } : { ...given, colors };
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

const warn = (text) => require("process").emitWarning(text);

/** Channels of diagnostics_channel: what is to be logged, before it is a text. */
let channels;
function publish(name, args) {
  channels ??= require("diagnostics_channel");
  if (channels.hasSubscribers(`console.${name}`)) channels.channel(`console.${name}`).publish(args);
}

function writeOut(console, stream, args) {
  console[kWrite](stream, formatWithOptions(optionsFor(console, stream), ...args));
}

const methods = {
  log(...args) {
    publish("log", args);
    writeOut(this, this._stdout, args);
  },
  warn(...args) {
    publish("warn", args);
    writeOut(this, this._stderr, args);
  },
  error(...args) {
    publish("error", args);
    writeOut(this, this._stderr, args);
  },
  debug(...args) {
    publish("debug", args);
    writeOut(this, this._stdout, args);
  },
  info(...args) {
    publish("info", args);
    writeOut(this, this._stdout, args);
  },
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
    else warn(`Count for '${name}' does not exist`);
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
    if (this._times.has(name)) warn(`Label '${name}' already exists for console.time()`);
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
    warn(`No such label '${name}' for console.${method}()`);
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
    try {
      if (stream.listenerCount?.("error") === 0) stream.once("error", nothing);
      stream.write(line, stream === this._stdout ? this._stdoutErrorHandler : this._stderrErrorHandler);
    } catch (error) {
      if (isStackOverflow(error)) throw error;
    } finally {
      stream.removeListener?.("error", nothing);
    }
  },
});
Object.defineProperty(Console, Symbol.hasInstance, {
  __proto__: null, value: (instance) => instance === console || instance?.[kState] !== undefined,
});
Object.defineProperty(console, "Console", { __proto__: null, value: Console, writable: true, enumerable: true, configurable: true });

module.exports = console;
