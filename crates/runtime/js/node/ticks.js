// @ts-check
"use strict";
// process.nextTick (https://nodejs.org/api/process.html#processnexttickcallback-args): a queue of callbacks that is emptied
// before any promise's reaction that was not yet due when the first of them came in. Each callback runs in the async context
// that queued it, and what it throws is reported as an uncaught error; the others run all the same.
//
// Deviation: reactions that were queued earlier in the same turn come first, for V8 offers no place ahead of them.

const { PromisePrototypeThen, PromiseResolve, ReflectApply, TypeError } = require("primordials");
const { reportException } = require("dom/report");
const { currentFrame, swapFrame } = require("request_scope");

/** A linked list: { callback, args, frame, next }. */
let first, last;

function queueTick(callback, args) {
  if (typeof callback !== "function") throw new TypeError("the callback is not a function");
  const tick = { __proto__: null, callback, args, frame: currentFrame(), next: undefined };
  if (first !== undefined) {
    last.next = last = tick;
    return;
  }
  first = last = tick;
  PromisePrototypeThen(PromiseResolve(undefined), drain);
}

function drain() {
  while (first !== undefined) {
    const { callback, args, frame } = first;
    const before = swapFrame(frame);
    try {
      ReflectApply(callback, undefined, args);
    } catch (error) {
      reportException(error);
    } finally {
      swapFrame(before);
    }
    first = first.next;
  }
}

module.exports = { queueTick };
