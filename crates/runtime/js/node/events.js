// @ts-check
"use strict";
// What node:events needs of the runtime: the listeners of EventTargets, and values as text for messages.

const events = require("dom/event");
const { inspect: format } = require("inspect");

const { isEventTarget } = events;

function inspect(value) {
  return format(value);
}

/** The callbacks of a type's listeners; none for what is no EventTarget. */
function listenersOf(target, type) {
  return isEventTarget(target) ? events.listenersOf(target, `${type}`) : [];
}

module.exports = { inspect, isEventTarget, listenersOf };
