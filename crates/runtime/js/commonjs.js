// @ts-check
"use strict";
// CommonJS modules: `require`, `module`, `exports`. Each module runs once; a cycle sees what is
// exported so far. The natives decide which file a specifier means; it is never outside of the app.

const { ReflectApply, SafeMap, StringPrototypeLastIndexOf, StringPrototypeSlice } = require("primordials");
const { op_commonjs_load, op_commonjs_resolve } = require("ops");

/** By id. A module is here from the moment it starts to run. */
let modules;

function requireCommonJs(id) {
  modules ??= new SafeMap();
  const known = modules.get(id);
  if (known !== undefined) return known.exports;
  const out = [];
  const body = op_commonjs_load(id, out);
  // Not CommonJS: JSON, text, bytes, or an ES module's namespace.
  if (body === undefined) return out[0];
  const module = { exports: {}, id, filename: id, loaded: false };
  modules.set(id, module);
  const requireHere = (specifier) => requireCommonJs(op_commonjs_resolve(`${specifier}`, id));
  requireHere.resolve = (specifier) => op_commonjs_resolve(`${specifier}`, id);
  const slash = StringPrototypeLastIndexOf(id, "/");
  let done = false;
  try {
    ReflectApply(body, module.exports, [module.exports, requireHere, module, id, StringPrototypeSlice(id, 0, slash) || "/"]);
    module.loaded = true;
    done = true;
  } finally {
    if (!done) modules.delete(id);
  }
  return module.exports;
}

module.exports = { requireCommonJs };
