"use strict";
// node:path (https://nodejs.org/api/path.html): POSIX paths, with `posix` and `win32`.

module.exports = require("internal/path/posix");
