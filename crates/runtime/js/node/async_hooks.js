// @ts-check
"use strict";
// node:async_hooks (https://nodejs.org/api/async_context.html): AsyncLocalStorage and AsyncResource over the frames of
// request_scope. The store of a frame is a linked list { key, value, next } that is never changed: to set a value is to
// make a new list, and a new frame around it, of the same request. Exports the namespace that an import sees.
//
// A captured frame (bind, snapshot, AsyncResource) brings its request along, so that what it calls counts for the
// request that captured it; one captured outside of any request, during module evaluation, brings only its values.
//
// Deviations: createHook makes a hook that nothing calls; async ids are 0, but for those of AsyncResource.

const { ObjectDefineProperty, ReflectApply, TypeError } = require("primordials");
const { Frame, OUTSIDE, currentFrame, currentRequest, swapFrame } = require("request_scope");

/** The list without `key`; the same list when it is not in there. Lists are short: one entry per AsyncLocalStorage. */
function without(list, key) {
  if (list === undefined) return undefined;
  if (list.key === key) return list.next; // there is never a second one
  const next = without(list.next, key);
  return next === list.next ? list : { __proto__: null, key: list.key, value: list.value, next };
}

function storeOf(frame) {
  return frame === undefined ? undefined : frame.store;
}

function frameWith(store) {
  return new Frame(currentRequest(), store);
}

/** The frame in which something captured earlier is to run now. */
function adopt(captured) {
  if (captured !== undefined && captured.request !== OUTSIDE) return captured;
  return frameWith(storeOf(captured));
}

function runIn(frame, callback, thisArg, args) {
  const before = swapFrame(frame);
  try {
    return ReflectApply(callback, thisArg, args);
  } finally {
    swapFrame(before);
  }
}

function checkFunction(value, name) {
  if (typeof value !== "function") throw invalid(name, "function");
}

/** With Node's code. */
function invalid(name, type) {
  const error = new TypeError(`The "${name}" argument must be of type ${type}`);
  ObjectDefineProperty(error, "code", {
    __proto__: null, value: "ERR_INVALID_ARG_TYPE", writable: true, enumerable: true, configurable: true,
  });
  return error;
}

class AsyncLocalStorage {
  /** What this storage's values are found by. disable() changes it, and so loses them all. */
  #key = { __proto__: null };
  #defaultValue;
  #name;

  constructor(options = undefined) {
    this.#defaultValue = options === undefined || options === null ? undefined : options.defaultValue;
    const name = options === undefined || options === null ? undefined : options.name;
    this.#name = name === undefined ? "" : `${name}`;
  }

  get name() { return this.#name; }

  static bind(fn) { return bindFunction(fn, undefined); }

  static snapshot() {
    const captured = currentFrame();
    return function (fn, ...args) {
      checkFunction(fn, "fn");
      return runIn(adopt(captured), fn, this, args);
    };
  }

  getStore() {
    const key = this.#key;
    for (let entry = storeOf(currentFrame()); entry !== undefined; entry = entry.next) {
      if (entry.key === key) return entry.value;
    }
    return this.#defaultValue;
  }

  run(store, callback, ...args) {
    checkFunction(callback, "callback");
    return runIn(this.#frame(store), callback, undefined, args);
  }

  exit(callback, ...args) {
    checkFunction(callback, "callback");
    return runIn(this.#frame(undefined), callback, undefined, args);
  }

  enterWith(store) { swapFrame(this.#frame(store)); }
  disable() { this.#key = { __proto__: null }; }

  #frame(value) {
    const key = this.#key;
    return frameWith({ __proto__: null, key, value, next: without(storeOf(currentFrame()), key) });
  }
}

/** `thisArg` undefined: the caller's own. */
function bindFunction(fn, thisArg, captured = currentFrame()) {
  checkFunction(fn, "fn");
  const bound = thisArg === undefined
    ? function (...args) { return runIn(adopt(captured), fn, this, args); }
    : (...args) => runIn(adopt(captured), fn, thisArg, args);
  ObjectDefineProperty(bound, "length", { __proto__: null, value: fn.length, configurable: true });
  return bound;
}

let lastAsyncId = 0;

class AsyncResource {
  #frame = currentFrame();
  #asyncId = ++lastAsyncId;

  constructor(type, _options = undefined) {
    if (typeof type !== "string") throw invalid("type", "string");
  }

  static bind(fn, type = undefined, thisArg = undefined) {
    return bindFunction(fn, thisArg);
  }

  runInAsyncScope(fn, thisArg = undefined, ...args) {
    checkFunction(fn, "fn");
    return runIn(adopt(this.#frame), fn, thisArg, args);
  }

  bind(fn, thisArg = undefined) { return bindFunction(fn, thisArg, this.#frame); }
  emitDestroy() { return this; }
  asyncId() { return this.#asyncId; }
  triggerAsyncId() { return 0; }
}

function createHook() {
  return { enable() { return this; }, disable() { return this; } };
}
function executionAsyncId() { return 0; }
function triggerAsyncId() { return 0; }
function executionAsyncResource() { return {}; }

// The default export is this object itself: the natives see to that.
module.exports = {
  AsyncLocalStorage, AsyncResource, createHook, executionAsyncId, executionAsyncResource, triggerAsyncId,
};
