"use strict";
// node:sys: the old name of node:util.

module.exports = require("util");
