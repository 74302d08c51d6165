"use strict";
// node:path/posix (https://nodejs.org/api/path.html#pathposix).

module.exports = require("path").posix;
