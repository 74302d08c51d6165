"use strict";
// node:module (https://nodejs.org/api/module.html): createRequire, builtinModules, isBuiltin and findPackageJSON.
//
// Deviations: what the loader does is the runtime's own: changes of Module._extensions, _load and _resolveFilename are kept, and
// change nothing; those of _cache and Module.prototype.require count. Hooks (register, registerHooks) and stripTypeScriptTypes
// throw.

const { cache, extensions, isModule, load, mainModule, prototype, resolve } = binding("module");
const { ERR_FEATURE_UNAVAILABLE_ON_PLATFORM, ERR_INVALID_ARG_TYPE, ERR_INVALID_ARG_VALUE } = require("internal/errors");
const { validateBoolean, validateObject, validateString } = require("internal/validators");

/** Node's names; those that are not here are left out. */
const NAMES = [
  "_http_agent", "_http_client", "_http_common", "_http_incoming", "_http_outgoing", "_http_server", "_stream_duplex",
  "_stream_passthrough", "_stream_readable", "_stream_transform", "_stream_wrap", "_stream_writable", "_tls_common",
  "_tls_wrap", "assert", "assert/strict", "async_hooks", "buffer", "child_process", "cluster", "console", "constants",
  "crypto", "dgram", "diagnostics_channel", "dns", "dns/promises", "domain", "events", "fs", "fs/promises", "http", "http2",
  "https", "inspector", "inspector/promises", "module", "net", "os", "path", "path/posix", "path/win32", "perf_hooks",
  "process", "punycode", "querystring", "readline", "readline/promises", "repl", "stream", "stream/consumers",
  "stream/promises", "stream/web", "string_decoder", "sys", "timers", "timers/promises", "tls", "trace_events", "tty", "url",
  "util", "util/types", "v8", "vm", "wasi", "worker_threads", "zlib",
];
const WITH_SCHEME_ONLY = ["node:sea", "node:sqlite", "node:test", "node:test/reporters"];
const builtinModules = [...NAMES.filter((name) => isModule(`node:${name}`)), ...WITH_SCHEME_ONLY.filter(isModule)];

function isBuiltin(name) {
  if (typeof name !== "string") return false;
  return builtinModules.includes(name) || (name.startsWith("node:") && isModule(name));
}

/** A path of the app's folder from a path, a URL, or the text of either. */
function pathOf(place, name) {
  if (place instanceof URL || (typeof place === "string" && place.startsWith("file:"))) {
    const url = new URL(place);
    if (url.protocol === "file:") return decodeURIComponent(url.pathname);
  } else if (typeof place === "string" && place.startsWith("/")) {
    return place;
  }
  throw new ERR_INVALID_ARG_VALUE(name, place, "must be a file URL object, file URL string, or absolute path string");
}

function createRequire(place) {
  const from = pathOf(place, "filename");
  const requireHere = (specifier) => {
    validateString(specifier, "id");
    if (specifier === "") throw new ERR_INVALID_ARG_VALUE("id", specifier, "must be a non-empty string");
    return load(resolve(specifier, from));
  };
  Object.defineProperty(requireHere, "name", { __proto__: null, value: "require", configurable: true });
  requireHere.resolve = (specifier) => {
    validateString(specifier, "request");
    return isBuiltin(specifier) ? specifier : resolve(specifier, from);
  };
  requireHere.resolve.paths = (specifier) => (isBuiltin(specifier) ? null : nodeModulePaths(from));
  return Object.assign(requireHere, { cache, extensions, main: mainModule() });
}

function nodeModulePaths(from) {
  const parts = from.split("/").slice(0, -1);
  const paths = [];
  for (let i = parts.length; i > 0; i--) {
    if (parts[i - 1] !== "node_modules") paths.push(`${parts.slice(0, i).join("/")}/node_modules`);
  }
  return paths;
}

/** The folders in which a specifier would be sought: for a relative one that of its file. */
function lookupPaths(specifier, parent) {
  if (isBuiltin(specifier)) return null;
  const from = parent?.filename ?? undefined;
  if (!/^\.\.?(?:\/|$)/.test(specifier)) return from === undefined ? nodeModulePaths("/") : nodeModulePaths(from);
  return [from === undefined ? "." : from.slice(0, from.lastIndexOf("/")) || "/"];
}

/** The path of the package.json of the package that a specifier means, or of the one around a place. */
function findPackageJSON(specifier, base = undefined) {
  if (specifier === undefined) throw new ERR_INVALID_ARG_TYPE("specifier", ["string", "URL"], specifier);
  const isPlace = base === undefined || specifier instanceof URL || /^(?:file:|\/|\.)/.test(specifier);
  if (!isPlace) {
    const name = /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0];
    return tryResolve(`${name}/package.json`, pathOf(base, "base"));
  }
  const from = base === undefined ? pathOf(specifier, "specifier") : new URL(specifier, `file://${pathOf(base, "base")}`).pathname;
  const parts = from.split("/");
  for (let i = parts.length - 1; i > 0; i--) {
    const found = tryResolve(`${parts.slice(0, i).join("/") || "."}/package.json`.replace(/^\.\//, "./"), "/index.js");
    if (found !== undefined) return found;
  }
  return undefined;
}

function tryResolve(specifier, from) {
  try {
    return resolve(specifier, from);
  } catch {
    return undefined;
  }
}

function Module(id = "", parent = undefined) {
  this.id = id;
  this.path = id.slice(0, id.lastIndexOf("/")) || "/";
  this.exports = {};
  this.filename = id.startsWith("/") ? id : null;
  this.loaded = false;
  this.children = [];
  this.parent = parent;
}
Module.prototype = prototype;
/** Runs a text as this module. */
prototype._compile = function _compile(content, filename) {
  const names = ["exports", "require", "module", "__filename", "__dirname"];
  const body = require("vm").compileFunction(content, names, { filename });
  const folder = filename.slice(0, filename.lastIndexOf("/")) || "/";
  return Reflect.apply(body, this.exports, [this.exports, createRequire(filename), this, filename, folder]);
};

function unavailable(name, instead) {
  return {
    [name]() {
      const error = new ERR_FEATURE_UNAVAILABLE_ON_PLATFORM(`module.${name}`);
      error.message = `module.${name} is not available in Hearth: ${instead}`;
      throw error;
    },
  }[name];
}

const OWN_LOADER = "modules are resolved and compiled by the runtime; transform them when the app is built";
const WRAPPER = ["(function (exports, require, module, __filename, __dirname) { ", "\n});"];

Object.assign(Module, {
  Module, SourceMap: unavailable("SourceMap", "stacks have the original positions already"),
  _cache: cache, _extensions: Object.assign(extensions, { ".js"() {}, ".json"() {}, ".node"() {} }),
  _load: (specifier, parent) => createRequire(parent?.filename ?? "/index.js")(specifier),
  _initPaths() {}, _nodeModulePaths: (from) => nodeModulePaths(`${from.replace(/\/+$/, "")}/`), _pathCache: Object.create(null),
  _resolveLookupPaths: lookupPaths,
  _resolveFilename: (specifier, parent) => createRequire(parent?.filename ?? "/index.js").resolve(specifier),
  builtinModules,
  constants: { compileCacheStatus: { __proto__: null, FAILED: 0, ENABLED: 1, ALREADY_ENABLED: 2, DISABLED: 3 } },
  createRequire, enableCompileCache: () => ({ status: 3 }), findPackageJSON, findSourceMap: () => undefined,
  flushCompileCache() {}, getCompileCacheDir: () => undefined,
  getSourceMapsSupport: () => ({ __proto__: null, enabled: true, nodeModules: true, generatedCode: false }),
  /** 0 for a file, 1 for a folder, else a negative number. */
  _stat(path) {
    const found = require("fs").statSync(path, { throwIfNoEntry: false });
    return found === undefined ? -2 : Number(found.isDirectory());
  },
  globalPaths: [], isBuiltin, register: unavailable("register", OWN_LOADER),
  registerHooks: unavailable("registerHooks", OWN_LOADER), runMain() {}, setSourceMapsSupport(enabled, options = {}) {
    validateBoolean(enabled, "enabled");
    validateObject(options, "options");
    for (const name of ["nodeModules", "generatedCode"]) {
      if (options[name] !== undefined) validateBoolean(options[name], `options.${name}`);
    }
  },
  stripTypeScriptTypes: unavailable("stripTypeScriptTypes", OWN_LOADER), syncBuiltinESMExports() {},
  wrap: (code) => WRAPPER[0] + code + WRAPPER[1], wrapper: WRAPPER,
});

module.exports = Module;
