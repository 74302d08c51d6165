// @ts-check
"use strict";
// The globals of apps: only this file and src/lazy_globals.rs, which has those of lazy files,
// define them. Interfaces are writable and not enumerable, as Web IDL has it; an app that
// overwrites one changes it for itself, since built-in code does not look there.

const { ObjectDefineProperty, ReflectDeleteProperty } = require("primordials");
const { addListener, removeListener, dispatch } = require("events/scope");
const { queueMicrotask, reportError } = require("dom/report");
const { Headers } = require("fetch/headers");
const { Request } = require("fetch/request");
const { Response } = require("fetch/response");
const { charge } = require("intl");

const global = globalThis;

function define(name, value) {
  ObjectDefineProperty(global, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
}

/** Functions and attributes of the global scope are enumerable, as WindowOrWorkerGlobalScope's are. */
function defineEnumerable(name, value) {
  ObjectDefineProperty(global, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
}

define("Headers", Headers);
define("Request", Request);
define("Response", Response);

const functions = {
  queueMicrotask, reportError, addEventListener: addListener, removeEventListener: removeListener, dispatchEvent: dispatch,
};
for (const name in functions) {
  ObjectDefineProperty(functions[name], "name", { __proto__: null, value: name, configurable: true });
  defineEnumerable(name, functions[name]);
}

charge(global.Intl);
defineEnumerable("self", global);

// Apps have no memory that two threads could share, and no waiting on it: apps have no second
// thread, and a thread that waits serves no requests. A flag of V8 keeps SharedArrayBuffer out
// (src/platform.rs), and a shared buffer that a Wasm module creates gives no access to its
// constructor (src/lazy_globals.rs).
ReflectDeleteProperty(global, "Atomics");

/** Puts the `Hearth` object where nothing can replace it. */
function defineHearth(hearth) {
  ObjectDefineProperty(global, "Hearth", { __proto__: null, value: hearth });
}

module.exports = { defineHearth, scope: global };
