"use strict";
// In place of readable-stream's copy.

module.exports = require("process");
