// @ts-check
"use strict";
// What node:events needs of the runtime: the listeners of EventTargets.

const events = require("dom/event");

const { isEventTarget } = events;

/** The callbacks of a type's listeners; none for what is no EventTarget. */
function listenersOf(target, type) {
  return isEventTarget(target) ? events.listenersOf(target, `${type}`) : [];
}

module.exports = { isEventTarget, listenersOf };
