// @ts-check
"use strict";
// Stack traces with the positions of the original sources: positions go through the source maps of
// transpiled modules. Frames of the built-in files are left out: they do not help an app, and they
// would show Hearth's internals.

const {
  ArrayPrototypeJoin, ErrorPrototypeToString, StringPrototypeStartsWith, SymbolFor,
} = require("primordials");
const { op_source_position } = require("ops");

const HIDDEN = "hearth:";
/** Errors of Node's modules have it: their stacks begin with their code, too. */
const NODE_ERROR = SymbolFor("hearth.nodeError");

/** V8 calls this when `stack` is first read. Must not throw. */
function prepareStackTrace(error, sites) {
  const lines = [heading(error)];
  for (let i = 0; i < sites.length; i++) {
    const line = frame(sites[i]);
    if (line !== undefined) lines[lines.length] = line;
  }
  return ArrayPrototypeJoin(lines, "\n");
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
