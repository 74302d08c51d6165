// @ts-check
"use strict";
// setTimeout and the like
// (https://html.spec.whatwg.org/multipage/timers-and-user-prompts.html#timers). op_timer_* measure
// the time; this file keeps what is to be called: an id's callback, its arguments, and the async
// context in which it was set. Timers belong to the request that set them: no other can clear them,
// and they end with it (dropTimers).
//
// Deviations: a string as handler is a TypeError, for there is no eval; nested timers are not
// slowed down to 4 ms; a delay above 2^31-1 ms counts as 1 ms, as browsers and Node do it, instead
// of wrapping around.

const { MathTrunc, ReflectApply, SafeMap, SafeSet, TypeError } = require("primordials");
const { converters, requiredArguments } = require("webidl");
const { currentFrame, currentRequest, swapFrame } = require("request_scope");
const { reportException } = require("dom/report");
const { op_timer_cancel, op_timer_start } = require("ops");

const MAX_DELAY = 2 ** 31 - 1;

let lastId = 0;
/** id to { callback, args, frame, request, repeat }. */
const timers = new SafeMap();
/** Request to the SafeSet of its ids, so that the end of a request costs what its own timers cost. */
const byRequest = new SafeMap();
/** Has what `this` is in callbacks. */
const globals = lazy("globals");

/** For friends too: calls `callback` with `args` (an array) after `delay` ms, in the current async context. */
function startTimer(callback, delay, repeat = false, args = /** @type {any[]} */ ([])) {
  const request = currentRequest();
  const id = ++lastId;
  op_timer_start(request, id, delay > MAX_DELAY ? MAX_DELAY : delay, repeat);
  timers.set(id, { __proto__: null, callback, args, frame: currentFrame(), request, repeat });
  let ids = byRequest.get(request);
  if (ids === undefined) byRequest.set(request, (ids = new SafeSet()));
  ids.add(id);
  return id;
}

function forget(id, request) {
  timers.delete(id);
  const ids = byRequest.get(request);
  ids.delete(id);
  if (ids.size === 0) byRequest.delete(request);
}

/** For built-in files: cancels by id, in any request. */
function cancelTimer(id) {
  const timer = timers.get(id);
  if (timer === undefined) return;
  forget(id, timer.request);
  op_timer_cancel(id);
}

/** A timer is due. Exceptions of its callback are the caller's. */
function fireTimer(id) {
  const timer = timers.get(id);
  if (timer === undefined) return; // cleared meanwhile
  if (!timer.repeat) forget(id, timer.request);
  const before = swapFrame(timer.frame);
  try {
    ReflectApply(timer.callback, globals.exports.scope, timer.args);
  } catch (error) {
    reportException(error);
  } finally {
    swapFrame(before);
  }
}

/** A request is over. Its native timers go without our help. */
function dropTimers(request) {
  const ids = byRequest.get(request);
  if (ids === undefined) return;
  byRequest.delete(request);
  ids.forEach((id) => timers.delete(id));
}

function convertHandler(handler, prefix) {
  if (typeof handler === "function") return handler;
  throw new TypeError(`${prefix}: Argument 1 is not a function`);
}

/** NaN and less than nothing are 0, fractions are cut off. */
function convertDelay(delay, prefix) {
  const ms = MathTrunc(converters["unrestricted double"](delay, prefix, "Argument 2"));
  if (ms > MAX_DELAY) return 1;
  return ms > 0 ? ms : 0;
}

function setTimeout(handler, timeout = 0, ...args) {
  const prefix = "Failed to execute 'setTimeout'";
  requiredArguments(arguments.length, 1, prefix);
  handler = convertHandler(handler, prefix);
  return startTimer(handler, convertDelay(timeout, prefix), false, args);
}

function setInterval(handler, timeout = 0, ...args) {
  const prefix = "Failed to execute 'setInterval'";
  requiredArguments(arguments.length, 1, prefix);
  handler = convertHandler(handler, prefix);
  return startTimer(handler, convertDelay(timeout, prefix), true, args);
}

/** Both clear functions: they take the ids of either kind. Unknown ids are ignored. */
function clear(id, prefix) {
  id = converters.long(id, prefix, "Argument 1");
  const timer = timers.get(id);
  if (timer === undefined || timer.request !== currentRequest()) return;
  cancelTimer(id);
}

function clearTimeout(id = 0) {
  clear(id, "Failed to execute 'clearTimeout'");
}

function clearInterval(id = 0) {
  clear(id, "Failed to execute 'clearInterval'");
}

module.exports = {
  setTimeout, setInterval, clearTimeout, clearInterval, fireTimer, dropTimers, startTimer, cancelTimer,
};
