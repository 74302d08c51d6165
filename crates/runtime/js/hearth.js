// @ts-check
"use strict";
// The `Hearth` object: what an app is told about itself, and its files. Made when a context becomes a worker's, frozen, and
// put where no app can replace it; `Bun` has the part of Bun's object of that name that such apps use here.

const { ObjectDefineProperty, ObjectFreeze } = require("primordials");
const webidl = require("webidl");

const appFiles = lazy("file/app_file");
const nodeModules = lazy("node/modules");

function file(path, options = undefined) {
  const prefix = "Failed to execute 'file' on 'Hearth'";
  webidl.requiredArguments(arguments.length, 1, prefix);
  return appFiles.use().appFile(path, options, prefix);
}

function serve(options) {
  return nodeModules.use().requireNode("internal/bun/serve").serve(options);
}

/** Packages that find a Bun ask for its `env`. */
const bun = { __proto__: null, file, serve };
ObjectDefineProperty(bun, "env", { __proto__: null, enumerable: true, get: () => nodeModules.use().requireNode("process").env });
ObjectFreeze(bun);

/** `worker` is the id of the worker: unique in this process. */
function makeHearth(name, version, worker) {
  const app = ObjectFreeze({ __proto__: null, name, version, worker });
  return ObjectFreeze({ __proto__: null, app, file });
}

module.exports = { bun, makeHearth };
