// @ts-check
"use strict";
// What `cloudflare:workers` needs of the runtime: the environment, waitUntil for the request that is running, and which class
// is WorkerEntrypoint, so that main.js makes an instance for each request.

const { Error, ObjectPrototypeIsPrototypeOf } = require("primordials");
const { environment } = require("environment");
const { OUTSIDE, currentRequest } = require("request_scope");
const { waitUntil: extend } = require("events/context");
const webidl = require("webidl");

/** The class that cloudflare:workers exports: the first that is given. */
let entrypoint;

function markEntrypoint(value) {
  if (entrypoint === undefined && typeof value === "function") entrypoint = value;
}

/** Whether a class extends WorkerEntrypoint. */
function isEntrypoint(value) {
  return entrypoint !== undefined && ObjectPrototypeIsPrototypeOf(entrypoint, value);
}

function waitUntil(promise) {
  webidl.requiredArguments(arguments.length, 1, "Failed to execute 'waitUntil'");
  const request = currentRequest();
  if (request === OUTSIDE) throw new Error("waitUntil is for requests: while modules are evaluated there is none");
  extend(request, promise);
}

module.exports = { environment, isEntrypoint, markEntrypoint, waitUntil };
