// @ts-check
"use strict";
// What Node's `vm` needs of the runtime: code that runs in the app's own context under a name of its own.

const { op_vm_function, op_vm_script } = require("ops");

/** Compiles a script; runs it, too, and returns what it comes to. */
function script(code, fileName, line, column, run) {
  return op_vm_script(`${code}`, `${fileName}`, line, column, run === true);
}

/** A function with this body. */
function compileFunction(code, fileName, line, column, parameters) {
  return op_vm_function(`${code}`, `${fileName}`, line, column, parameters);
}

module.exports = { compileFunction, script };
