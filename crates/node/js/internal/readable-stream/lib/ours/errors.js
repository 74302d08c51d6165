"use strict";
// In place of readable-stream's copy: Node's errors.

module.exports = require("internal/errors");
