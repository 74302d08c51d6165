// @ts-check
"use strict";
// reportError and queueMicrotask (https://html.spec.whatwg.org/multipage/webappapis.html#reporting-exceptions), and the
// one place to which exceptions go that no caller can be given: those of event listeners and microtasks. What becomes of
// them is up to the hook, which main.js sets.

const { PromisePrototypeThen, PromiseResolve } = require("primordials");
const { converters, requiredArguments } = require("webidl");

/** @type {(error: unknown) => void} */
let hook = () => {};

/** @param {(error: unknown) => void} report */
function setReportException(report) {
  hook = report;
}

/** Never throws. */
function reportException(error) {
  try {
    hook(error);
  } catch {
    // The error of a hook that fails is dropped.
  }
}

function reportError(e) {
  requiredArguments(arguments.length, 1, "Failed to execute 'reportError'");
  reportException(e);
}

function queueMicrotask(callback) {
  const prefix = "Failed to execute 'queueMicrotask'";
  requiredArguments(arguments.length, 1, prefix);
  const run = converters.Function(callback, prefix, "Argument 1");
  // The reaction of a promise, so that V8 carries the async context along.
  PromisePrototypeThen(PromiseResolve(undefined), () => {
    try {
      run();
    } catch (error) {
      reportException(error);
    }
  });
}

module.exports = { reportException, setReportException, reportError, queueMicrotask };
