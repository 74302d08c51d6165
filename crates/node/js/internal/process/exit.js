"use strict";
// process.exit: the running request ends with an error that says so, and the code that called does not go on.
// process.loadEnvFile: a file of the app's folder.

const process = require("process");
const { failRequest } = binding("process");
const { validateInteger } = require("internal/validators");

let isExiting = false;

function exit(code) {
  if (code !== undefined && code !== null) {
    if (typeof code === "string" && code !== "" && Number.isInteger(+code)) code = +code;
    validateInteger(code, "code");
    process.exitCode = code;
  }
  const status = process.exitCode ?? 0;
  if (!isExiting) {
    isExiting = true;
    try {
      process.emit("exit", status);
    } finally {
      isExiting = false;
    }
  }
  const message = `process.exit(${status}) was called: in Hearth it ends the request, and no process. ` +
    "Return a response, or throw the error that there is";
  failRequest(message);
  const error = new Error(message);
  error.code = "ERR_PROCESS_EXIT";
  throw error;
}

function loadEnvFile(path = "/.env") {
  const text = process.getBuiltinModule("fs").readFileSync(path, "utf8");
  for (const [name, value] of Object.entries(require("util").parseEnv(text))) process.env[name] ??= value;
}

module.exports = { exit, loadEnvFile };
