"use strict";
// node:vm (https://nodejs.org/api/vm.html), as far as it runs code in the app's own context: Script.runInThisContext,
// runInThisContext, compileFunction. An app is one context; code that is to be kept apart from it belongs into an app or a
// sandbox of its own, so what makes contexts throws and says so.
//
// Deviations: timeout is the app's own CPU limit; cachedData is ignored; importModuleDynamically is import() as the app has it.

const native = binding("vm");
const { ERR_FEATURE_UNAVAILABLE_ON_PLATFORM, ERR_INVALID_ARG_TYPE } = require("internal/errors");
const {
  validateArray, validateBoolean, validateInt32, validateObject, validateString, validateStringArray, validateUint32,
} = require("internal/validators");

function unavailable(name) {
  const error = new ERR_FEATURE_UNAVAILABLE_ON_PLATFORM(`vm.${name}`);
  error.message = `vm.${name} is not available in Hearth: an app has one context. Use vm.runInThisContext() or ` +
    "new Function() for code that may share it, and an app or sandbox of its own for code that may not";
  return error;
}

/** File name and position of `options`, which may be the file name itself. */
function origin(options, name = "options") {
  if (typeof options === "string") options = { filename: options };
  validateObject(options, name);
  const { filename = "evalmachine.<anonymous>", lineOffset = 0, columnOffset = 0 } = options;
  validateString(filename, `${name}.filename`);
  validateInt32(lineOffset, `${name}.lineOffset`);
  validateInt32(columnOffset, `${name}.columnOffset`);
  return { filename, lineOffset, columnOffset, options };
}

function checkRunOptions(options) {
  if (options === undefined) return;
  if (typeof options === "string") return;
  validateObject(options, "options");
  const { timeout, displayErrors, breakOnSigint } = options;
  if (timeout !== undefined) validateUint32(timeout, "options.timeout", true);
  if (displayErrors !== undefined) validateBoolean(displayErrors, "options.displayErrors");
  if (breakOnSigint !== undefined) validateBoolean(breakOnSigint, "options.breakOnSigint");
}

class Script {
  #code;
  #origin;

  constructor(code, options = {}) {
    code = `${code}`;
    const found = origin(options);
    const { cachedData, produceCachedData = false } = found.options;
    if (cachedData !== undefined && !ArrayBuffer.isView(cachedData)) {
      throw new ERR_INVALID_ARG_TYPE("options.cachedData", ["Buffer", "TypedArray", "DataView"], cachedData);
    }
    validateBoolean(produceCachedData, "options.produceCachedData");
    native.script(code, found.filename, found.lineOffset, found.columnOffset, false);
    this.#code = code;
    this.#origin = found;
    if (cachedData !== undefined) this.cachedDataRejected = true;
    const map = /\/\/[#@] sourceMappingURL=(\S+)\s*$/.exec(code);
    this.sourceMapURL = map === null ? undefined : map[1];
  }

  runInThisContext(options = undefined) {
    checkRunOptions(options);
    const { filename, lineOffset, columnOffset } = this.#origin;
    return native.script(this.#code, filename, lineOffset, columnOffset, true);
  }

  runInContext() { throw unavailable("Script.runInContext"); }
  runInNewContext() { throw unavailable("Script.runInNewContext"); }
  createCachedData() { return require("buffer").Buffer.alloc(0); }
}

function runInThisContext(code, options = undefined) {
  checkRunOptions(options);
  return new Script(code, options ?? {}).runInThisContext(typeof options === "string" ? undefined : options);
}

function compileFunction(code, params = undefined, options = {}) {
  validateString(code, "code");
  if (params !== undefined) validateStringArray(params, "params");
  const { filename, lineOffset, columnOffset, options: { contextExtensions = [], parsingContext } } =
    origin({ filename: "", ...options });
  validateArray(contextExtensions, "options.contextExtensions");
  for (const [i, extension] of contextExtensions.entries()) validateObject(extension, `options.contextExtensions[${i}]`, 1);
  if (parsingContext !== undefined) throw unavailable("compileFunction with a parsingContext");
  if (contextExtensions.length > 0) throw unavailable("compileFunction with contextExtensions");
  const compiled = native.compileFunction(code, filename, lineOffset, columnOffset, params ?? []);
  // V8 refuses names that are none without a word.
  if (compiled === undefined) throw new SyntaxError("a parameter's name is not an identifier");
  return compiled;
}

function isContext(object) {
  validateObject(object, "object", 6);
  return false;
}

class Module {
  constructor() { throw unavailable("Module"); }
}
class SourceTextModule extends Module {}
class SyntheticModule extends Module {}

async function measureMemory() {
  throw unavailable("measureMemory");
}

module.exports = {
  Module, Script, SourceTextModule, SyntheticModule, compileFunction,
  constants: {
    __proto__: null, USE_MAIN_CONTEXT_DEFAULT_LOADER: Symbol("vm_dynamic_import_main_context_default"),
    DONT_CONTEXTIFY: Symbol("vm_context_no_contextify"),
  },
  createContext(object = {}, options = {}) {
    if (object !== undefined && typeof object !== "symbol") validateObject(object, "contextObject", 6);
    validateObject(options, "options");
    throw unavailable("createContext");
  },
  createScript: (code, options) => new Script(code, options), isContext, measureMemory,
  runInContext() { throw unavailable("runInContext"); },
  runInNewContext() { throw unavailable("runInNewContext"); }, runInThisContext,
};
