"use strict";
// node:tty (https://nodejs.org/api/tty.html): nothing is a terminal here.

const { unavailable } = require("internal/unavailable");

module.exports = Object.assign(unavailable("tty", ["ReadStream", "WriteStream"],
  "apps have no terminal. console writes to the app's log"), {
  isatty: () => false,
});
