"use strict";
// process.emitWarning (https://nodejs.org/api/process.html#processemitwarningwarning-options): a `warning` event, and a line
// of the app's log.

const process = require("process");
const { log } = binding("process");
const { ERR_INVALID_ARG_TYPE } = require("internal/errors");
const { validateString } = require("internal/validators");

function emitWarning(warning, type, code, caller) {
  let detail;
  if (type !== null && typeof type === "object" && !Array.isArray(type)) {
    ({ ctor: caller, code } = type);
    if (typeof type.detail === "string") ({ detail } = type);
    type = type.type || "Warning";
  } else if (typeof type === "function") {
    caller = type;
    code = "";
    type = "Warning";
  }
  if (type !== undefined) validateString(type, "type");
  if (typeof code === "function") {
    caller = code;
    code = "";
  } else if (code !== undefined) {
    validateString(code, "code");
  }
  if (typeof warning === "string") {
    const text = warning;
    warning = new Error(text);
    warning.name = String(type || "Warning");
    if (code !== undefined) warning.code = code;
    if (detail !== undefined) warning.detail = detail;
    Error.captureStackTrace(warning, caller ?? process.emitWarning);
  } else if (!(warning instanceof Error)) {
    throw new ERR_INVALID_ARG_TYPE("warning", ["Error", "string"], warning);
  }
  if (warning.name === "DeprecationWarning") {
    if (process.noDeprecation) return;
    if (process.throwDeprecation) {
      process.nextTick(() => { throw warning; });
      return;
    }
  }
  process.nextTick(report, warning);
}

function report(warning) {
  const code = warning.code ? `[${warning.code}] ` : "";
  const detail = typeof warning.detail === "string" ? `\n${warning.detail}` : "";
  log("warn", `${code}${warning.name}: ${warning.message}${detail}`);
  process.emit("warning", warning);
}

module.exports = { emitWarning };
