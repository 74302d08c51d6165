"use strict";
// node:timers/promises (https://nodejs.org/api/timers.html#timers-promises-api).

const { AbortError, ERR_ILLEGAL_CONSTRUCTOR, ERR_INVALID_THIS } = require("internal/errors");
const { Immediate, Timeout, start } = require("internal/timers/classes");
const { validateAbortSignal, validateBoolean, validateNumber, validateObject } = require("internal/validators");

function check(options) {
  validateObject(options, "options");
  const { signal, ref = true } = options;
  validateAbortSignal(signal, "options.signal");
  validateBoolean(ref, "options.ref");
  return { signal, ref };
}

function aborted(signal) {
  return new AbortError(undefined, { cause: signal.reason });
}

/** `begin(resolve)` starts what resolves and returns a function that cancels it. */
function wait(begin, value, { signal }) {
  if (signal?.aborted) return Promise.reject(aborted(signal));
  const { promise, resolve, reject } = Promise.withResolvers();
  const cancel = begin(() => {
    signal?.removeEventListener("abort", onAbort);
    resolve(value);
  });
  function onAbort() {
    cancel();
    reject(aborted(signal));
  }
  signal?.addEventListener("abort", onAbort, { once: true });
  return promise;
}

function setTimeout(delay, value, options = {}) {
  try {
    if (delay !== undefined) validateNumber(delay, "delay");
    const { signal, ref } = check(options);
    return wait((resolve) => {
      const timer = start(new Timeout(resolve, delay, [], false));
      if (!ref) timer.unref();
      return () => timer.close();
    }, value, { signal });
  } catch (error) {
    return Promise.reject(error);
  }
}

function setImmediate(value, options = {}) {
  try {
    const { signal } = check(options);
    return wait((resolve) => {
      const immediate = new Immediate(resolve, []);
      return () => immediate[Symbol.dispose]();
    }, value, { signal });
  } catch (error) {
    return Promise.reject(error);
  }
}

async function* setInterval(delay, value, options = {}) {
  if (delay !== undefined) validateNumber(delay, "delay");
  const { signal } = check(options);
  if (signal?.aborted) throw aborted(signal);
  let due = 0;
  let wake;
  const timer = start(new Timeout(() => {
    due++;
    wake?.();
  }, delay, [], true));
  const onAbort = () => {
    timer.close();
    wake?.();
  };
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    while (!signal?.aborted) {
      if (due === 0) {
        await new Promise((resolve) => { wake = resolve; });
        wake = undefined;
      }
      for (; due > 0; due--) yield value;
    }
    throw aborted(signal);
  } finally {
    timer.close();
    signal?.removeEventListener("abort", onAbort);
  }
}

class Scheduler {
  constructor() { throw new ERR_ILLEGAL_CONSTRUCTOR(); }

  wait(delay, options) {
    if (this !== scheduler) throw new ERR_INVALID_THIS("Scheduler");
    return setTimeout(delay, undefined, options);
  }

  yield() {
    if (this !== scheduler) throw new ERR_INVALID_THIS("Scheduler");
    return setImmediate();
  }
}
const scheduler = Object.create(Scheduler.prototype);

module.exports = { scheduler, setImmediate, setInterval, setTimeout };
