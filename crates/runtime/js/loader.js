// @ts-check
"use strict";
// The module system of the built-in files: a file gets at those before it in the list of `src/bootstrap.rs`, and at no
// other, so the order is checked by running it and cycles cannot exist. The body of `(ops, extras) => define`.

const loaded = { __proto__: null, ops, extras };

function require(name) {
  const exports = loaded[name];
  if (exports === undefined) {
    throw new Error(`${name} is not loaded yet: put it earlier in the list of src/bootstrap.rs`);
  }
  return exports;
}

return function define(name, body) {
  const module = { exports: {} };
  body(require, module);
  loaded[name] = module.exports;
  return module.exports;
};
