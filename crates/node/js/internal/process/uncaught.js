"use strict";
// process events for errors that no code caught: the global events `error`, `unhandledrejection` and `rejectionhandled`
// become uncaughtException, unhandledRejection and rejectionHandled. An event that has a listener counts as handled.

const process = require("process");
const { ERR_UNCAUGHT_EXCEPTION_CAPTURE_ALREADY_SET, ERR_UNHANDLED_REJECTION } = require("internal/errors");
const { validateFunction } = require("internal/validators");

let isListening = false;
let capture = null;
const captures = [];
/** Of node:domain, once that is loaded: says whether a domain took the error. */
let takeByDomain;

function listen() {
  if (isListening) return;
  isListening = true;
  addEventListener("error", onError);
  addEventListener("unhandledrejection", onRejection);
  addEventListener("rejectionhandled", (event) => process.emit("rejectionHandled", event.promise));
}

function onError(event) {
  if (deliver(event.error, "uncaughtException")) event.preventDefault();
}

function deliver(error, origin) {
  if (takeByDomain !== undefined) {
    try {
      if (takeByDomain(error)) return true;
    } catch (thrown) {
      error = thrown;
    }
  }
  if (capture !== null) {
    capture(error);
    return true;
  }
  if (captures.some((callback) => callback(error) === true)) return true;
  process.emit("uncaughtExceptionMonitor", error, origin);
  return process.emit("uncaughtException", error, origin);
}

function onRejection(event) {
  if (process.emit("unhandledRejection", event.reason, event.promise)) event.preventDefault();
  else if (deliver(asError(event.reason), "unhandledRejection")) event.preventDefault();
}

function asError(reason) {
  if (Error.isError(reason)) return reason;
  const isObject = (typeof reason === "object" && reason !== null) || typeof reason === "function";
  const error = new ERR_UNHANDLED_REJECTION(isObject ? `#<${reason.constructor?.name || "Object"}>` : String(reason));
  error.name = "UnhandledPromiseRejection";
  return error;
}

function setDomains(take) {
  takeByDomain = take;
  listen();
}

function setCapture(callback) {
  if (callback === null) {
    capture = null;
    return;
  }
  if (typeof callback !== "function") {
    const { ERR_INVALID_ARG_TYPE } = require("internal/errors");
    throw new ERR_INVALID_ARG_TYPE("fn", ["Function", "null"], callback);
  }
  if (capture !== null) throw new ERR_UNCAUGHT_EXCEPTION_CAPTURE_ALREADY_SET();
  capture = callback;
  listen();
}

function addCapture(callback) {
  validateFunction(callback, "fn");
  captures.push(callback);
  listen();
}

module.exports = { addCapture, hasCapture: () => capture !== null, listen, setCapture, setDomains };
