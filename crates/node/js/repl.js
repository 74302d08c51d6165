"use strict";
// node:repl (https://nodejs.org/api/repl.html): importable; what is used of it throws.

const { unavailable } = require("internal/unavailable");

module.exports = unavailable("repl", ["REPLServer", "Recoverable", "start"],
  "apps have no terminal. Use `hearth eval` to try code out");
