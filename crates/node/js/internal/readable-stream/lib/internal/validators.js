"use strict";
// In place of readable-stream's copy: Node's checks of arguments.

module.exports = require("internal/validators");
