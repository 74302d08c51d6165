// @ts-check
"use strict";
// What node:timers needs of the runtime: timers that call with no arguments, and can be cancelled by any request of the app.

const { MathTrunc, TypeError } = require("primordials");
const timers = require("timers");

const MAX_DELAY = 2 ** 31 - 1;

/** Returns the timer's id. */
function start(callback, delay, repeat) {
  if (typeof callback !== "function") throw new TypeError("the callback is not a function");
  const ms = MathTrunc(+delay);
  return timers.startTimer(callback, ms > 0 && ms <= MAX_DELAY ? ms : 0, !!repeat);
}

function cancel(id) {
  timers.cancelTimer(+id);
}

const { setTimeout, setInterval, clearTimeout, clearInterval } = timers;
/** Those that the global scope has from the start. */
const web = { __proto__: null, setTimeout, setInterval, clearTimeout, clearInterval };

module.exports = { cancel, start, web };
