"use strict";
// events.on (https://nodejs.org/api/events.html#eventsonemitter-eventname-options): events as an async iterator.

const { ERR_INVALID_ARG_TYPE } = require("internal/errors");
const { validateAbortSignal, validateInteger, validateObject } = require("internal/validators");
const { abortErrorOf, addAbortListener, listen, unlisten } = require("internal/events/targets");

const AsyncIteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}).prototype);

/** A limit of the queue: `highWaterMark`, or the older name. */
function limit(options, name, old, missing) {
  const value = options[name] ?? options[old];
  if (value === undefined) return missing;
  validateInteger(value, `options.${options[name] === undefined ? old : name}`, 1);
  return value;
}

module.exports = function on(emitter, type, options = {}) {
  validateObject(options, "options");
  const { signal } = options;
  validateAbortSignal(signal, "options.signal");
  if (signal?.aborted) throw abortErrorOf(signal);
  const high = limit(options, "highWaterMark", "highWatermark", Number.MAX_SAFE_INTEGER);
  const low = limit(options, "lowWaterMark", "lowWatermark", 1);

  const events = [];
  const waiting = [];
  const added = [];
  let error = null;
  let isFinished = false;
  let isPaused = false;
  let abortion;

  function add(name, listener) {
    listen(emitter, name, listener);
    added.push([name, listener]);
  }

  function close() {
    abortion?.[Symbol.dispose]();
    for (const [name, listener] of added.splice(0)) unlisten(emitter, name, listener);
    isFinished = true;
    for (const { resolve } of waiting.splice(0)) resolve({ value: undefined, done: true });
    return Promise.resolve({ value: undefined, done: true });
  }

  function onEvent(...args) {
    const next = waiting.shift();
    if (next !== undefined) {
      next.resolve({ value: args, done: false });
      return;
    }
    events.push(args);
    if (!isPaused && events.length > high && typeof emitter.pause === "function") {
      isPaused = true;
      emitter.pause();
    }
  }

  function onError(reason) {
    const next = waiting.shift();
    if (next === undefined) error = { reason };
    else next.reject(reason);
    close();
  }

  const iterator = {
    __proto__: AsyncIteratorPrototype,
    next() {
      if (events.length > 0) {
        const value = events.shift();
        if (isPaused && events.length < low) {
          isPaused = false;
          emitter.resume();
        }
        return Promise.resolve({ value, done: false });
      }
      if (error !== null) {
        const { reason } = error;
        error = null;
        return Promise.reject(reason);
      }
      if (isFinished) return close();
      const { promise, ...next } = Promise.withResolvers();
      waiting.push(next);
      return promise;
    },
    return() { return close(); },
    throw(reason) {
      if (!(reason instanceof Error)) throw new ERR_INVALID_ARG_TYPE("EventEmitter.AsyncIterator", "Error", reason);
      onError(reason);
      return Promise.resolve({ value: undefined, done: true });
    },
    [Symbol.asyncIterator]() { return this; },
    async [Symbol.asyncDispose]() { await close(); },
  };

  add(type, onEvent);
  if (type !== "error" && typeof emitter.on === "function") add("error", onError);
  const endings = options.close === undefined ? [] : options.close;
  for (const name of endings) add(name, close);
  if (signal !== undefined) abortion = addAbortListener(signal, () => onError(abortErrorOf(signal)));
  return iterator;
};
