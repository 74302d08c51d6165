"use strict";
// In place of readable-stream's copy of the parts of node:util that streams use.

const { addAbortListener } = require("internal/events/targets");

const custom = Symbol.for("nodejs.util.promisify.custom");

module.exports = {
  AggregateError,
  AbortSignalAny: (signals) => AbortSignal.any(signals),
  addAbortListener,
  createDeferredPromise: () => Promise.withResolvers(),
  debuglog: () => () => {},
  deprecate: (fn) => fn,
  inspect: (value, options) => require("util").inspect(value, options),
  isBlob: (value) => value instanceof Blob,
  kEmptyObject: Object.freeze({ __proto__: null }),
  once(callback) {
    let isCalled = false;
    return function (...args) {
      if (isCalled) return;
      isCalled = true;
      Reflect.apply(callback, this, args);
    };
  },
  promisify: Object.assign((fn) => new Promise((resolve, reject) => {
    fn((error, ...values) => error ? reject(error) : resolve(...values));
  }), { custom }),
};
