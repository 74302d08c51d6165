// @ts-check
"use strict";
// The global scope as an event target. Listeners for the events that apps handle ("fetch", "scheduled", "task") are kept
// apart, since dispatch wants what they return; all others are an ordinary target's.

const { ArrayPrototypeIndexOf, ArrayPrototypeSplice, FunctionPrototypeCall, TypeError } = require("primordials");
const webidl = require("webidl");

const events = lazy("dom/event");
const carriers = lazy("dom/events");

/** @type {any} The ordinary target, made when first needed. */
let target;

/** Calls a method of EventTarget on it. */
function onTarget(name, a, b, c) {
  const exports = events.use();
  target ??= new exports.EventTarget();
  return FunctionPrototypeCall(exports[name], target, a, b, c);
}

/** What offerRejection answers: src/worker/uncaught.rs has the same. */
const NO_LISTENER = 0, HAS_LISTENER = 1, PREVENTED = 2;

const handlers = { __proto__: null, fetch: [], scheduled: [], task: [] };

function handlersFor(type, prefix, count) {
  webidl.requiredArguments(count, 2, prefix);
  return handlers[webidl.converters.DOMString(type, prefix, "Argument 1")];
}

function addListener(type, listener, options = undefined) {
  const list = handlersFor(type, "Failed to execute 'addEventListener'", arguments.length);
  if (list === undefined) return onTarget("addEventListener", type, listener, options);
  if (listener === null || listener === undefined) return undefined;
  if (typeof listener !== "function" && typeof listener !== "object") {
    throw new TypeError("Failed to execute 'addEventListener': Argument 2 is not a function or an object");
  }
  if (ArrayPrototypeIndexOf(list, listener) === -1) list[list.length] = listener;
  return undefined;
}

function removeListener(type, listener, options = undefined) {
  const list = handlersFor(type, "Failed to execute 'removeEventListener'", arguments.length);
  if (list === undefined) return onTarget("removeEventListener", type, listener, options);
  const index = ArrayPrototypeIndexOf(list, listener);
  if (index !== -1) ArrayPrototypeSplice(list, index, 1);
  return undefined;
}

function dispatch(event) {
  return onTarget("dispatchEvent", event);
}

let isReporting = false;

/**
 * An exception that no caller got goes to the listeners for "error". Says whether one has prevented what happens otherwise. What
 * such a listener throws goes to none.
 */
function offerError(error, describe) {
  if (target === undefined || isReporting || !events.use().hasListener(target, "error")) return false;
  isReporting = true;
  try {
    const { ErrorEvent } = carriers.use();
    const event = new ErrorEvent("error", { __proto__: null, cancelable: true, message: `Uncaught ${describe(error)}`, error });
    return !events.use().fire(target, event);
  } finally {
    isReporting = false;
  }
}

/**
 * A rejected promise without a handler goes to the listeners for "unhandledrejection"; one that has a handler by now to those for
 * "rejectionhandled". Says whether there are any, and whether one has prevented what happens otherwise.
 */
function offerRejection(promise, reason, isHandled) {
  const type = isHandled ? "rejectionhandled" : "unhandledrejection";
  if (target === undefined || !events.use().hasListener(target, type)) return NO_LISTENER;
  const { PromiseRejectionEvent } = carriers.use();
  const event = new PromiseRejectionEvent(type, { __proto__: null, cancelable: !isHandled, promise, reason });
  return events.use().fire(target, event) ? HAS_LISTENER : HAS_LISTENER | PREVENTED;
}

function listens(type) {
  return handlers[type].length > 0;
}

/** Calls the listeners in order until one has answered; returns what the first returned that returned anything. */
function callListeners(type, event, isAnswered) {
  const list = handlers[type];
  let returned;
  for (let i = 0; i < list.length && !isAnswered(event); i++) {
    const listener = list[i];
    const value = typeof listener === "function"
      ? FunctionPrototypeCall(listener, undefined, event)
      : FunctionPrototypeCall(listener.handleEvent, listener, event);
    if (returned === undefined) returned = value;
  }
  return returned;
}

module.exports = { addListener, removeListener, dispatch, listens, callListeners, offerError, offerRejection };
