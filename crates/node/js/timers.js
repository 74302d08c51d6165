"use strict";
// node:timers (https://nodejs.org/api/timers.html): timers as objects. An app that uses any of Node's modules has these as
// its globals, too (crates/runtime/js/node/modules.js); others have the web's, which are numbers.
//
// Deviations: ref and unref keep nothing alive, for a request ends with its answer; timers end with the request that set
// them, as the web's do here.

const { Timeout, Immediate, start } = require("internal/timers/classes");

/** The checks are much code, and each app that uses one of Node's modules loads this file. */
function validateFunction(value, name) {
  if (typeof value !== "function") require("internal/validators").validateFunction(value, name);
}

const custom = Symbol.for("nodejs.util.promisify.custom");

function setTimeout(callback, delay, ...args) {
  validateFunction(callback, "callback");
  return start(new Timeout(callback, delay, args, false));
}

function setInterval(callback, delay, ...args) {
  validateFunction(callback, "callback");
  return start(new Timeout(callback, delay, args, true));
}

function clearTimeout(timer) {
  if (timer instanceof Timeout) timer.close();
  else if (typeof timer === "number" || typeof timer === "string") Timeout.closeById(timer);
}

function clearInterval(timer) {
  clearTimeout(timer);
}

function setImmediate(callback, ...args) {
  validateFunction(callback, "callback");
  return new Immediate(callback, args);
}

function clearImmediate(immediate) {
  if (immediate instanceof Immediate) immediate[Symbol.dispose]();
}

function promisified(fn, name) {
  Object.defineProperty(fn, custom, { get: () => require("timers/promises")[name], enumerable: true, configurable: true });
}
promisified(setTimeout, "setTimeout");
promisified(setImmediate, "setImmediate");

module.exports = {
  setTimeout, clearTimeout, setImmediate, clearImmediate, setInterval, clearInterval,
  get promises() { return require("timers/promises"); },
};
