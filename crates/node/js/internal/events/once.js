"use strict";
// events.once (https://nodejs.org/api/events.html#eventsonceemitter-name-options): a promise of an event.

const { validateAbortSignal, validateObject } = require("internal/validators");
const { abortErrorOf, addAbortListener, listen, unlisten } = require("internal/events/targets");

module.exports = async function once(emitter, type, options = {}) {
  validateObject(options, "options");
  const { signal } = options;
  validateAbortSignal(signal, "options.signal");
  if (signal?.aborted) throw abortErrorOf(signal);
  const isEmitter = typeof emitter?.once === "function";
  const { promise, resolve, reject } = Promise.withResolvers();
  let abortion;
  function onEvent(...args) {
    if (isEmitter && type !== "error") emitter.removeListener("error", onError);
    abortion?.[Symbol.dispose]();
    resolve(args);
  }
  function onError(error) {
    emitter.removeListener(type, onEvent);
    abortion?.[Symbol.dispose]();
    reject(error);
  }
  const flags = { ...options, once: true };
  delete flags.signal;
  listen(emitter, type, onEvent, flags);
  // EventTargets have no `error` event of this meaning.
  if (isEmitter && type !== "error") emitter.once("error", onError);
  if (signal !== undefined) {
    abortion = addAbortListener(signal, () => {
      unlisten(emitter, type, onEvent, flags);
      if (isEmitter) emitter.removeListener("error", onError);
      reject(abortErrorOf(signal));
    });
  }
  return promise;
};
