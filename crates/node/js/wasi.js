"use strict";
// node:wasi (https://nodejs.org/api/wasi.html): importable; what is used of it throws.

const { unavailable } = require("internal/unavailable");

module.exports = unavailable("wasi", ["WASI"],
  "there are no files and processes for WASI to show. Use WebAssembly directly, or a package that implements WASI in JavaScript");
