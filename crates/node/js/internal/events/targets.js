"use strict";
// What node:events does for EventEmitter and EventTarget alike: questions about listeners, and their limits.

const { AbortError, ERR_INVALID_ARG_TYPE } = require("internal/errors");
const { validateAbortSignal, validateFunction } = require("internal/validators");
const { isEventTarget, listenersOf } = binding("events");

/** EventTarget to what setMaxListeners was given for it. */
const limits = new WeakMap();

function setMax(target, n) {
  if (!isEventTarget(target)) return false;
  limits.set(target, n);
  return true;
}

function getMaxListeners(target) {
  if (typeof target?.getMaxListeners === "function") return target.getMaxListeners();
  if (isEventTarget(target)) {
    // Signals are made to have many listeners.
    return limits.get(target) ?? (target instanceof AbortSignal ? 0 : require("events").defaultMaxListeners);
  }
  throw new ERR_INVALID_ARG_TYPE("emitter", ["EventEmitter", "EventTarget"], target);
}

function getEventListeners(target, type) {
  if (typeof target?.listeners === "function") return target.listeners(type);
  if (isEventTarget(target)) return listenersOf(target, `${type}`);
  throw new ERR_INVALID_ARG_TYPE("emitter", ["EventEmitter", "EventTarget"], target);
}

function listenerCount(target, type) {
  if (typeof target?.listenerCount === "function") return target.listenerCount(type);
  if (isEventTarget(target)) return listenersOf(target, `${type}`).length;
  throw new ERR_INVALID_ARG_TYPE("emitter", ["EventEmitter", "EventTarget"], target);
}

function addAbortListener(signal, listener) {
  if (signal === undefined) throw new ERR_INVALID_ARG_TYPE("signal", "AbortSignal", signal);
  validateAbortSignal(signal, "signal");
  validateFunction(listener, "listener");
  let remove;
  if (signal.aborted) {
    queueMicrotask(() => listener());
  } else {
    signal.addEventListener("abort", listener, { once: true });
    remove = () => signal.removeEventListener("abort", listener);
  }
  return {
    __proto__: null,
    [Symbol.dispose]() { remove?.(); },
  };
}

/** Adds and removes listeners of either kind of target. */
function listen(target, type, listener, flags) {
  if (typeof target.on === "function") {
    if (flags?.once) target.once(type, listener);
    else target.on(type, listener);
  } else if (typeof target.addEventListener === "function") {
    target.addEventListener(type, listener, flags);
  } else {
    throw new ERR_INVALID_ARG_TYPE("emitter", "EventEmitter", target);
  }
}

function unlisten(target, type, listener, flags) {
  if (typeof target.removeListener === "function") target.removeListener(type, listener);
  else target.removeEventListener(type, listener, flags);
}

function abortErrorOf(signal) {
  return new AbortError(undefined, { cause: signal?.reason });
}

module.exports = {
  abortErrorOf, addAbortListener, getEventListeners, getMaxListeners, listen, listenerCount, setMax, unlisten,
};
