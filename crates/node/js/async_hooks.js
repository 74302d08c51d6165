"use strict";
// node:async_hooks (https://nodejs.org/api/async_context.html): the runtime's own, since it carries the frames of requests;
// with withScope, for code without callbacks.

const hooks = binding("async_hooks");

const { AsyncLocalStorage } = hooks;
const { getStore, enterWith } = AsyncLocalStorage.prototype;

/** A storage has another value until this is disposed of. */
class RunScope {
  #storage;
  #before;

  constructor(storage, store) {
    this.#before = getStore.call(storage);
    enterWith.call(storage, store);
    this.#storage = storage;
  }

  dispose() {
    const storage = this.#storage;
    if (storage === undefined) return;
    this.#storage = undefined;
    enterWith.call(storage, this.#before);
  }

  [Symbol.dispose]() {
    this.dispose();
  }
}

AsyncLocalStorage.prototype.withScope = function withScope(store) {
  return new RunScope(this, store);
};
Object.defineProperty(AsyncLocalStorage.prototype, "withScope", { enumerable: false });

module.exports = hooks;
