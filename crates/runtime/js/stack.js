// @ts-check
"use strict";
// Stack traces with the positions of the original sources: positions go through the source maps of
// transpiled modules. Frames of the built-in files are left out: they do not help an app, and they
// would show Hearth's internals.

const {
  ArrayPrototypeJoin, Error, ErrorPrototypeToString, FunctionPrototypeCall, ObjectDefineProperty,
  StringPrototypeStartsWith, SymbolFor, safeGetOwnPropertyDescriptor,
} = require("primordials");
const { op_source_position } = require("ops");

const HIDDEN = "hearth:";
/** Errors of Node's modules have it: their stacks begin with their code, too. */
const NODE_ERROR = SymbolFor("hearth.nodeError");

/** V8 calls this when `stack` is first read. Must not throw. */
function prepareStackTrace(error, sites) {
  // As in Node and browsers of V8, an app may make its stacks itself (https://v8.dev/docs/stack-trace-api).
  try {
    const own = safeGetOwnPropertyDescriptor(Error, "prepareStackTrace");
    if (own !== undefined && typeof own.value === "function") {
      return FunctionPrototypeCall(own.value, Error, error, visible(sites));
    }
  } catch {
    // then it gets the usual text
  }
  const lines = [heading(error)];
  for (let i = 0; i < sites.length; i++) {
    const line = frame(sites[i]);
    if (line !== undefined) lines[lines.length] = line;
  }
  return ArrayPrototypeJoin(lines, "\n");
}

/** The frames that are not of built-in files. */
function visible(sites) {
  const list = [];
  for (let i = 0; i < sites.length; i++) {
    const file = sites[i].getFileName();
    if (typeof file === "string" && StringPrototypeStartsWith(file, HIDDEN)) continue;
    ObjectDefineProperty(list, list.length, {
      __proto__: null, value: sites[i], writable: true, enumerable: true, configurable: true,
    });
  }
  return list;
}

function heading(error) {
  try {
    if (error[NODE_ERROR] === true) return `${error.name} [${error.code}]: ${error.message}`;
    return ErrorPrototypeToString(error);
  } catch {
    return "Error";
  }
}

function frame(site) {
  try {
    const file = site.getFileName() ?? site.getScriptNameOrSourceURL() ?? site.getEvalOrigin();
    if (typeof file === "string" && StringPrototypeStartsWith(file, HIDDEN)) return undefined;
    const at = place(site, file);
    const name = site.getFunctionName();
    const type = site.getTypeName();
    if (site.isAsync()) return `    at async ${name ?? "<anonymous>"} (${at})`;
    if (site.isConstructor()) return `    at new ${name ?? "<anonymous>"} (${at})`;
    if (name === null || name === "") return `    at ${at}`;
    const method = !site.isToplevel() && type !== null && !StringPrototypeStartsWith(name, type) ? `${type}.${name}` : name;
    return `    at ${method} (${at})`;
  } catch {
    return undefined;
  }
}

function place(site, file) {
  if (site.isNative()) return "native";
  if (typeof file !== "string") return "<anonymous>";
  const line = site.getLineNumber();
  const column = site.getColumnNumber();
  if (line === null) return file;
  return op_source_position(file, line, column ?? 1) ?? `${file}:${line}:${column}`;
}

module.exports = { prepareStackTrace };
