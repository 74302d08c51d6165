// @ts-check
"use strict";
// What apps find on globalThis: this file alone touches it. Interfaces are writable and not enumerable, as Web IDL has it;
// an app that overwrites one changes it for itself, since nothing of ours looks there.

const {
  ObjectDefineProperty, ReflectConstruct, ReflectDeleteProperty, SymbolToStringTag, TypeError,
} = require("primordials");
const webidl = require("webidl");
const { addListener, removeListener, dispatch } = require("events/scope");
const { setCallbackThis, setTimeout, setInterval, clearTimeout, clearInterval } = require("timers");
const { registerPlatformClass } = require("inspect");

const global = globalThis;

function define(name, value) {
  ObjectDefineProperty(global, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
}

/** Functions and attributes of the global scope are enumerable, as WindowOrWorkerGlobalScope's are. */
function defineEnumerable(name, value) {
  ObjectDefineProperty(global, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
}

const interfaces = {
  ...require("dom/events"),
  ...pick(require("dom/event"), ["Event", "EventTarget"]),
  ...pick(require("dom/exception"), ["DOMException", "QuotaExceededError"]),
  ...pick(require("dom/abort"), ["AbortController", "AbortSignal"]),
  ...pick(require("url/url"), ["URL"]),
  ...pick(require("url/search_params"), ["URLSearchParams"]),
  ...pick(require("encoding/text"), ["TextEncoder", "TextDecoder"]),
  ...require("streams/interfaces"),
  ...pick(require("file/blob"), ["Blob", "File"]),
  ...pick(require("file/form_data"), ["FormData"]),
  ...pick(require("fetch/headers"), ["Headers"]),
  ...pick(require("fetch/request"), ["Request"]),
  ...pick(require("fetch/response"), ["Response"]),
  ...pick(require("crypto/random"), ["Crypto"]),
  ...pick(require("crypto/digest"), ["SubtleCrypto"]),
  ...pick(require("performance"), ["Performance"]),
  ...pick(require("events/extendable"), ["ExtendableEvent", "FetchEvent", "ScheduledEvent", "TaskEvent"]),
};

function pick(from, names) {
  const picked = {};
  for (let i = 0; i < names.length; i++) picked[names[i]] = from[names[i]];
  return picked;
}

for (const name in interfaces) define(name, interfaces[name]);

const functions = {
  setTimeout, setInterval, clearTimeout, clearInterval,
  queueMicrotask: require("dom/report").queueMicrotask,
  reportError: require("dom/report").reportError,
  structuredClone: require("structured_clone").structuredClone,
  atob: require("infra/base64").atob,
  btoa: require("infra/base64").btoa,
  fetch: require("fetch/fetch").fetch,
  addEventListener: addListener,
  removeEventListener: removeListener,
  dispatchEvent: dispatch,
};
for (const name in functions) defineEnumerable(name, functions[name]);

define("console", require("console").console);
defineEnumerable("crypto", require("crypto/random").crypto);
defineEnumerable("performance", require("performance").performance);
defineEnumerable("self", global);
defineEnumerable("navigator", { __proto__: { [SymbolToStringTag]: "Navigator" }, userAgent: "Hearth" });

setCallbackThis(global);

registerPlatformClass(interfaces.Response, ["status", "statusText", "url", "ok", "type", "bodyUsed"]);
registerPlatformClass(interfaces.Request, ["method", "url", "bodyUsed"]);
registerPlatformClass(interfaces.URL, ["href"]);
registerPlatformClass(interfaces.Headers, [], require("fetch/headers").flatHeaders);
registerPlatformClass(interfaces.Blob, ["size", "type"]);

/**
 * What V8 adds to every context, snapshot or not, and apps are not to have: memory that two threads could share, and
 * waiting on it. There is nobody to share with, and a thread that waits serves nobody. A shared buffer that a Wasm module
 * brings along leads nowhere. Runs once in each new context, before any of the app's code.
 */
function finishContext() {
  if (global.SharedArrayBuffer !== undefined) {
    ReflectDeleteProperty(global.SharedArrayBuffer.prototype, "constructor");
    ReflectDeleteProperty(global, "SharedArrayBuffer");
  }
  ReflectDeleteProperty(global, "Atomics");
  if (global.WebAssembly !== undefined) guardWasmMemory(global.WebAssembly);
}

/** A copy, so that what is checked is what V8 sees. */
function unshared(descriptor) {
  if (descriptor.shared) throw new TypeError("WebAssembly.Memory(): shared memory is not available");
  const copy = { __proto__: null };
  const keys = ["address", "initial", "minimum", "maximum"];
  for (let i = 0; i < keys.length; i++) {
    const value = descriptor[keys[i]];
    if (value !== undefined) copy[keys[i]] = value;
  }
  return copy;
}

function guardWasmMemory(wasm) {
  const Memory = wasm.Memory;
  const Guarded = function (descriptor) {
    if (new.target === undefined) throw new TypeError("WebAssembly.Memory must be invoked with 'new'");
    return ReflectConstruct(Memory, [webidl.isObject(descriptor) ? unshared(descriptor) : descriptor], new.target);
  };
  const define = (on, name, value, writable) =>
    ObjectDefineProperty(on, name, { __proto__: null, value, writable, enumerable: false, configurable: writable });
  ObjectDefineProperty(Guarded, "name", { __proto__: null, value: "Memory", configurable: true });
  define(Guarded, "prototype", Memory.prototype, false);
  define(Memory.prototype, "constructor", Guarded, true);
  define(wasm, "Memory", Guarded, true);
}

module.exports = { finishContext };
