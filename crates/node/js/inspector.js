"use strict";
// node:inspector (https://nodejs.org/api/inspector.html): importable; what is used of it throws.

const { unavailable } = require("internal/unavailable");

module.exports = Object.assign(unavailable("inspector", ["Session", "open", "waitForDebugger"],
  "apps cannot attach a debugger. Errors and console output are in the app's log (hearth logs)"), {
  close() {}, console, url() {},
});
