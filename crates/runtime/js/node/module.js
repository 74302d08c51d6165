// @ts-check
"use strict";
// What Node's `module` needs of the runtime: `require` from any place. Wherever that is, files are the app's own.

const { op_node_file } = require("ops");
const { cache, extensions, mainModule, prototype, requireCommonJs, resolve } = require("commonjs");

function load(id) { return requireCommonJs(`${id}`); }

/** Whether there is a built-in module of this id, `node:fs`. */
function isModule(id) { return op_node_file(`${id}`) !== undefined; }

module.exports = { cache, extensions, isModule, load, mainModule, prototype, resolve };
