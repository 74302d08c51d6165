// @ts-check
"use strict";
// The `ctx` that handlers of modules get, and `waitUntil`, which extends the life of a request.

const { PromisePrototypeThen, PromiseResolve } = require("primordials");
const { op_wait_until } = require("ops");
const webidl = require("webidl");

/** Only dispatch has it, so only dispatch can make what apps cannot. */
const KEY = { __proto__: null };

let report = () => {};

/** main.js says what is done with a rejected promise. */
function setWaitUntilReport(f) {
  report = f;
}

/** Notes a promise as work that the request's life is to be extended for. */
function waitUntil(request, promise) {
  op_wait_until(request, 1);
  const settled = () => op_wait_until(request, -1);
  PromisePrototypeThen(PromiseResolve(promise), settled, (error) => {
    // One rejection does not cut off the others.
    settled();
    report(request, error);
  });
}

/** The third argument of a module's handler. */
class ExecutionContext {
  #request;

  constructor(key, request) {
    if (key !== KEY) webidl.illegalConstructor();
    this.#request = request;
  }

  waitUntil(promise) {
    webidl.requiredArguments(arguments.length, 1, "Failed to execute 'waitUntil' on 'ExecutionContext'");
    waitUntil(this.#request, promise);
  }

  /** There is no origin behind the app to pass the request on to: accepted, and without effect. */
  passThroughOnException() {
    if (!(#request in this)) throw webidl.brandError("passThroughOnException");
  }
}
webidl.configureInterface(ExecutionContext);

module.exports = { KEY, ExecutionContext, setWaitUntilReport, waitUntil };
