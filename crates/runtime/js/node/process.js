// @ts-check
"use strict";
// What Node's `process` needs of the runtime.

const { ObjectDefineProperty, ReflectOwnKeys } = require("primordials");
const { console, methods: consoleMethods } = require("console");
const { environment } = require("environment");
const { currentRequest } = require("request_scope");
const { queueTick } = require("node/ticks");
const { op_console, op_now, op_request_fail, op_v8_heap } = require("ops");

/** The app's environment: a copy, which an app may change for itself as it may in Node. */
function makeEnv() {
  const values = {};
  set(values, "NODE_ENV", "production");
  // Servers of Node listen there; it has no meaning here.
  set(values, "PORT", "8080");
  const given = environment();
  const names = ReflectOwnKeys(given);
  for (let i = 0; i < names.length; i++) set(values, names[i], given[names[i]]);
  return values;
}

function set(target, name, value) {
  ObjectDefineProperty(target, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
}

/** Bytes of this worker: heapTotal, heapUsed, external, arrayBuffers, heapLimit. */
function memory() {
  const list = op_v8_heap(); // their names: node/v8.js
  return { __proto__: null, heapTotal: list[0], heapUsed: list[4], external: list[10], arrayBuffers: list[10], heapLimit: list[5] };
}

const levels = { __proto__: null, log: true, warn: true, error: true };

/** A line for the app's log. */
function log(level, text) {
  op_console(currentRequest(), levels[level] === true ? level : "log", `${text}`);
}

/** Ends the running request, if there is one: its client is answered with an error. */
function failRequest(message) {
  const request = currentRequest();
  if (request !== 0) op_request_fail(request, `${message}`);
}

/** Milliseconds since the worker started. */
function now() {
  return op_now();
}

module.exports = { console, consoleMethods, failRequest, log, makeEnv, memory, now, queueTick };
