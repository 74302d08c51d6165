// @ts-check
"use strict";
// The `Hearth` object: what an app is told about itself, and its files. Made when a context becomes a worker's, frozen, and
// put where no app can replace it.

const { ObjectFreeze } = require("primordials");
const webidl = require("webidl");

const appFiles = lazy("file/app_file");

function file(path, options = undefined) {
  const prefix = "Failed to execute 'file' on 'Hearth'";
  webidl.requiredArguments(arguments.length, 1, prefix);
  return appFiles.use().appFile(path, options, prefix);
}

/** `worker` is the id of the worker: unique in this process. */
function makeHearth(name, version, worker) {
  const app = ObjectFreeze({ __proto__: null, name, version, worker });
  return ObjectFreeze({ __proto__: null, app, file });
}

module.exports = { file, makeHearth };
