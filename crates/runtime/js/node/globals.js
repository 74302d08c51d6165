// @ts-check
"use strict";
// The globals that Node has and browsers lack. Each is made when an app first asks for it, by Node's own modules.

const { requireNode } = require("node/modules");

const scope = lazy("globals");

module.exports = {
  __proto__: null,
  get Buffer() { return requireNode("buffer").Buffer; },
  get global() { return scope.use().scope; },
  get process() { return requireNode("process"); },
  get setImmediate() { return requireNode("timers").setImmediate; },
  get clearImmediate() { return requireNode("timers").clearImmediate; },
};
