// @ts-check
"use strict";
// CommonJS modules (https://nodejs.org/api/modules.html): `require`, `module`, `exports`. Each module runs once; a cycle sees
// what is exported so far. The natives decide which file a specifier means; it is never outside of the app.
//
// `require.cache` is where modules are: one that the app deletes there runs again, one that it puts there is what `require`
// gives. `require.main` is the app's entry where that is CommonJS. The rest of `module` is node:module's.
//
// Deviations: what is put into `require.extensions` changes nothing; the id of the entry is its path, as all ids are.

const {
  ArrayPrototypePush, ObjectDefineProperty, ReflectApply, StringPrototypeLastIndexOf, StringPrototypeSlice,
  StringPrototypeStartsWith,
} = require("primordials");
const { op_commonjs_load, op_commonjs_resolve } = require("ops");

const nodeModules = lazy("node/modules");

/** By id. A module is here from the moment it starts to run. */
const cache = { __proto__: null };
const extensions = { __proto__: null };
let main;

function define(object, name, value) {
  ObjectDefineProperty(object, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
}

/** Module.prototype of node:module: packages that watch what is loaded replace its `require`. */
const prototype = {
  get constructor() { return nodeModules.use().requireNode("module"); },
  set constructor(value) { define(this, "constructor", value); },
  get paths() { return nodeModules.use().requireNode("module")._nodeModulePaths(this.path); },
  set paths(value) { define(this, "paths", value); },
  require(specifier) { return load(resolve(specifier, this.filename ?? "/index.js"), this, false); },
};

function resolve(specifier, from) {
  try {
    return op_commonjs_resolve(`${specifier}`, `${from}`);
  } catch (error) {
    // By which packages know that an optional one is not there.
    if (StringPrototypeStartsWith(`${error.message}`, "cannot find")) {
      define(error, "code", "MODULE_NOT_FOUND");
      define(error, "requireStack", [from]);
    }
    throw error;
  }
}

function makeRequire(module) {
  const { filename } = module;
  function require(specifier) { return module.require(specifier); }
  const resolveHere = (specifier) => resolve(specifier, filename);
  define(resolveHere, "paths", (specifier) => nodeModules.use().requireNode("module")._resolveLookupPaths(specifier, module));
  define(require, "resolve", resolveHere);
  define(require, "main", main);
  define(require, "extensions", extensions);
  define(require, "cache", cache);
  return require;
}

function load(id, parent, isMain) {
  const known = cache[id];
  if (known !== undefined) return known.exports;
  const out = [];
  const body = op_commonjs_load(id, out);
  // Not CommonJS: JSON, text, bytes, or an ES module's namespace.
  if (body === undefined) return out[0];
  const path = StringPrototypeSlice(id, 0, StringPrototypeLastIndexOf(id, "/")) || "/";
  const module = { __proto__: prototype, id, path, exports: {}, filename: id, loaded: false, children: [], parent };
  if (isMain) {
    main = module;
    module.parent = null;
  }
  if (parent !== undefined) ArrayPrototypePush(parent.children, module);
  cache[id] = module;
  let done = false;
  try {
    ReflectApply(body, module.exports, [module.exports, makeRequire(module), module, id, path]);
    module.loaded = true;
    done = true;
  } finally {
    if (!done) delete cache[id];
  }
  return module.exports;
}

/** For the natives, and for `require` functions that belong to no module. */
function requireCommonJs(id, isMain) {
  return load(id, undefined, isMain === true);
}

module.exports = { cache, extensions, mainModule: () => main, prototype, requireCommonJs, resolve };
