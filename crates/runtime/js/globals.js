// @ts-check
"use strict";
// What apps find on globalThis: this file alone touches it. Interfaces are writable and not enumerable, as Web IDL has it;
// an app that overwrites one changes it for itself, since nothing of ours looks there.

const { ObjectDefineProperty, ReflectDeleteProperty, SymbolToStringTag } = require("primordials");
const { addListener, removeListener, dispatch } = require("events/scope");
const { setCallbackThis, setTimeout, setInterval, clearTimeout, clearInterval } = require("timers");
const { registerPlatformClass } = require("inspect");
const { finishWasm } = require("wasm");
const { AppFile } = require("file/app_file");
const { bun } = require("hearth");

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
  ...pick(require("websocket/socket"), ["WebSocket"]),
  ...pick(require("websocket/pair"), ["WebSocketPair"]),
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
for (const name in functions) {
  ObjectDefineProperty(functions[name], "name", { __proto__: null, value: name, configurable: true });
  defineEnumerable(name, functions[name]);
}

define("Bun", bun);
define("console", require("console").console);
defineEnumerable("crypto", require("crypto/random").crypto);
defineEnumerable("performance", require("performance").performance);
defineEnumerable("self", global);
defineEnumerable("navigator", { __proto__: { [SymbolToStringTag]: "Navigator" }, userAgent: "Hearth" });

setCallbackThis(global);

registerPlatformClass(interfaces.Response, ["status", "statusText", "url", "ok", "type", "bodyUsed"]);
registerPlatformClass(interfaces.Request, ["method", "url", "bodyUsed"]);
registerPlatformClass(interfaces.URL, ["href"]);
registerPlatformClass(interfaces.WebSocket, ["url", "readyState", "protocol"]);
registerPlatformClass(interfaces.Headers, [], require("fetch/headers").flatHeaders);
registerPlatformClass(interfaces.Blob, ["size", "type"]);
registerPlatformClass(AppFile, ["name", "size", "type"]);

/**
 * Takes away what V8 adds to every context, snapshot or not, and apps are not to have: memory that two threads could share,
 * and waiting on it. There is nobody to share with, and a thread that waits serves nobody. A shared buffer that a Wasm
 * module brings along leads nowhere. Runs once in each new context, before it is any app's.
 */
function finishContext() {
  if (global.SharedArrayBuffer !== undefined) {
    ReflectDeleteProperty(global.SharedArrayBuffer.prototype, "constructor");
    ReflectDeleteProperty(global, "SharedArrayBuffer");
  }
  ReflectDeleteProperty(global, "Atomics");
  if (global.WebAssembly !== undefined) finishWasm(global.WebAssembly);
}

/** Puts the `Hearth` object where nothing can replace it. */
function defineHearth(hearth) {
  ObjectDefineProperty(global, "Hearth", { __proto__: null, value: hearth });
}

module.exports = { defineHearth, finishContext };
