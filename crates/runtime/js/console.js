// @ts-check
"use strict";
// The console namespace (https://console.spec.whatwg.org/). It writes to op_console under the id of
// the request whose turn runs. Counters, clocks and the indentation of groups belong to a request,
// too; dropConsole forgets them at its end.
//
// Deviations: those of console_format.js; clear does nothing.

const {
  ArrayPrototypePush, ArrayPrototypeUnshift, ErrorCaptureStackTrace, ObjectCreate, ObjectDefineProperty,
  ObjectPrototype, ReflectOwnKeys, SafeMap, StringPrototypeIndexOf, StringPrototypeRepeat, StringPrototypeReplaceAll,
  StringPrototypeSlice, SymbolToStringTag,
} = require("primordials");
const { converters, createSequenceConverter } = require("webidl");
const { currentRequest } = require("request_scope");
const { inspect } = require("inspect");
const { formatArguments, formatTable } = require("console_format");
const { op_console, op_now } = require("ops");

/** Request to { groups, counts, clocks }: made when first needed, which for most requests is never. */
const states = new SafeMap();
/** An app that keeps making up labels has itself to blame for lost ones, but not us for lost memory. */
const MAX_LABELS = 1000, MAX_GROUPS = 50;

function state() {
  const request = currentRequest();
  let found = states.get(request);
  if (found === undefined) {
    found = { __proto__: null, groups: 0, counts: new SafeMap(), clocks: new SafeMap() };
    states.set(request, found);
  }
  return found;
}

function dropConsole(request) {
  states.delete(request);
}

function print(level, text) {
  const request = currentRequest();
  const found = states.get(request);
  if (found !== undefined && found.groups > 0) {
    const indent = StringPrototypeRepeat("  ", found.groups);
    text = indent + StringPrototypeReplaceAll(text, "\n", `\n${indent}`);
  }
  op_console(request, level, text);
}

/** The formatter is written not to throw; should it do so at the brink of the stack, nothing must come of it. */
function printArguments(level, args) {
  let text;
  try {
    text = formatArguments(args);
  } catch {
    text = "[Uninspectable]";
  }
  print(level, text);
}

function convertLabel(label, method) {
  return converters.DOMString(label, `Failed to execute '${method}' on 'console'`, "Argument 1");
}

function elapsed(start) {
  const ms = op_now() - start;
  return ms >= 1000 ? `${round(ms / 1000)}s` : `${round(ms)}ms`;
}

function round(number) {
  return converters["long long"](number * 1000) / 1000;
}

const convertColumns = createSequenceConverter(converters.DOMString);

// Methods of an object literal: like Web IDL operations they have no prototype and cannot be constructed.
const methods = {
  assert(condition = false, ...data) {
    if (condition) return;
    if (typeof data[0] === "string") data[0] = `Assertion failed: ${data[0]}`;
    else ArrayPrototypeUnshift(data, data.length === 0 ? "Assertion failed" : "Assertion failed:");
    printArguments("error", data);
  },
  clear() {},
  debug(...data) { printArguments("debug", data); },
  error(...data) { printArguments("error", data); },
  info(...data) { printArguments("info", data); },
  log(...data) { printArguments("log", data); },
  table(tabularData = undefined, properties = undefined) {
    const prefix = "Failed to execute 'table' on 'console'";
    const columns = properties === undefined ? undefined : convertColumns(properties, prefix, "Argument 2");
    let text;
    try {
      text = formatTable(tabularData, columns);
    } catch {
      // hostile: shown as far as the formatter gets
    }
    if (text === undefined) printArguments("log", [tabularData]);
    else print("log", text);
  },
  trace(...data) {
    const holder = { __proto__: null, stack: "" };
    ErrorCaptureStackTrace(holder, methods.trace);
    let stack = "";
    try {
      stack = typeof holder.stack === "string" ? holder.stack : "";
    } catch {
      // Error.prepareStackTrace is the app's
    }
    const frames = StringPrototypeIndexOf(stack, "\n");
    let text = "Trace";
    try {
      if (data.length > 0) text = `Trace: ${formatArguments(data)}`;
    } catch {
      text = "Trace: [Uninspectable]";
    }
    print("log", frames < 0 ? text : text + StringPrototypeSlice(stack, frames));
  },
  warn(...data) { printArguments("warn", data); },
  dir(item = undefined, options = undefined) { print("log", inspect(item)); },
  dirxml(...data) { printArguments("log", data); },

  count(label = "default") {
    label = convertLabel(label, "count");
    const { counts } = state();
    const count = (counts.get(label) ?? 0) + 1;
    if (count > 1 || counts.size < MAX_LABELS) counts.set(label, count);
    print("info", `${label}: ${count}`);
  },
  countReset(label = "default") {
    label = convertLabel(label, "countReset");
    if (!state().counts.delete(label)) print("warn", `Count for '${label}' does not exist`);
  },

  group(...data) {
    if (data.length > 0) printArguments("log", data);
    const found = state();
    if (found.groups < MAX_GROUPS) found.groups++;
  },
  groupCollapsed(...data) {
    if (data.length > 0) printArguments("log", data);
    const found = state();
    if (found.groups < MAX_GROUPS) found.groups++;
  },
  groupEnd() {
    const found = state();
    if (found.groups > 0) found.groups--;
  },

  time(label = "default") {
    label = convertLabel(label, "time");
    const { clocks } = state();
    if (clocks.has(label)) print("warn", `Timer '${label}' already exists`);
    else if (clocks.size < MAX_LABELS) clocks.set(label, op_now());
  },
  timeLog(label = "default", ...data) {
    label = convertLabel(label, "timeLog");
    const start = state().clocks.get(label);
    if (start === undefined) {
      print("warn", `Timer '${label}' does not exist`);
      return;
    }
    const args = ["%s: %s", label, elapsed(start)];
    for (let i = 0; i < data.length; i++) ArrayPrototypePush(args, data[i]);
    printArguments("log", args);
  },
  timeEnd(label = "default") {
    label = convertLabel(label, "timeEnd");
    const { clocks } = state();
    const start = clocks.get(label);
    if (start === undefined) {
      print("warn", `Timer '${label}' does not exist`);
      return;
    }
    clocks.delete(label);
    print("info", `${label}: ${elapsed(start)}`);
  },
};

/** A namespace object: its prototype is an empty object of its own. */
const console = ObjectCreate(ObjectCreate(ObjectPrototype));
const keys = ReflectOwnKeys(methods);
for (let i = 0; i < keys.length; i++) {
  ObjectDefineProperty(console, keys[i], {
    __proto__: null, value: methods[keys[i]], writable: true, enumerable: true, configurable: true,
  });
}
ObjectDefineProperty(console, SymbolToStringTag, { __proto__: null, value: "console", configurable: true });

module.exports = { console, dropConsole, methods };
