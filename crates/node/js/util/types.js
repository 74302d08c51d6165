"use strict";
// node:util/types: util.types as a module of its own.

module.exports = require("internal/util/types");
