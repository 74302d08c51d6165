"use strict";
// Errors of the file system: "ENOENT: no such file or directory, open '/a'", with errno, code, syscall, path and dest.

const { UVException } = require("internal/errors");
const { numbers } = require("internal/system_errors");

function fsError(code, syscall, path = undefined, dest = undefined) {
  return new UVException({ errno: numbers.get(code), syscall, path, dest });
}

const TEXTS = {
  ERR_FS_EISDIR: "Path is a directory",
  ERR_FS_CP_DIR_TO_NON_DIR: "Cannot overwrite non-directory with directory",
  ERR_FS_CP_NON_DIR_TO_DIR: "Cannot overwrite directory with non-directory",
  ERR_FS_CP_EEXIST: "Target already exists",
  ERR_FS_CP_EINVAL: "Invalid src or dest",
};

/** An error of Node's own about a path: "Path is a directory: rm returned EISDIR (is a directory) /tmp/a". */
function fsSystemError(code, reason, syscall, message, path) {
  const error = new Error(`${TEXTS[code]}: ${syscall} returned ${reason} (${message}) ${path}`);
  error.name = "SystemError";
  return Object.assign(error, { code, info: { code: reason, message, path, syscall }, errno: -numbers.get(reason), syscall, path });
}

/** Whether a callback gets the error; others are of the arguments, and thrown. */
function isSystemError(error) {
  return error instanceof UVException || error?.code === "ERR_FS_FILE_TOO_LARGE" || error?.name === "AbortError"
    || error?.code === "ERR_FS_EISDIR" || `${error?.code}`.startsWith("ERR_FS_CP_");
}

module.exports = { fsError, fsSystemError, isSystemError };
