// @ts-check
"use strict";
// What Node's `module` needs of the runtime: `require` from any place. Wherever that is, files are the app's own.

const { op_commonjs_resolve, op_node_file } = require("ops");

const commonjs = lazy("commonjs");

/** The id of what a specifier means in the file of this id. */
function resolve(specifier, from) { return op_commonjs_resolve(`${specifier}`, `${from}`); }
function load(id) { return commonjs.use().requireCommonJs(`${id}`); }

/** Whether there is a built-in module of this id, `node:fs`. */
function isModule(id) { return op_node_file(`${id}`) !== undefined; }

module.exports = { isModule, load, resolve };
