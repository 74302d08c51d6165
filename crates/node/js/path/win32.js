"use strict";
// node:path/win32 (https://nodejs.org/api/path.html#pathwin32).

module.exports = require("path").win32;
