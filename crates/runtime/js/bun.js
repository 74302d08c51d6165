// @ts-check
"use strict";
// The `Bun` object: the part of Bun's object of that name that apps use here. Made when an app first asks for it, and each
// member beside `file` by Node's modules when it is first used.

const { ObjectDefineProperty, ObjectFreeze } = require("primordials");
const { file } = require("hearth");
const { requireNode } = require("node/modules");

/** Members, by the module whose exports they are. */
const SERVE = ["serve"];
/** Packages that find a Bun ask for its `env`. */
const ENVIRONMENT = ["env"];
const UTILITIES = [
  "deflateSync", "escapeHTML", "fileURLToPath", "gc", "gunzipSync", "gzipSync", "inflateSync", "inspect", "nanoseconds",
  "password", "pathToFileURL", "readableStreamToArray", "readableStreamToArrayBuffer", "readableStreamToBlob",
  "readableStreamToBytes", "readableStreamToJSON", "readableStreamToText", "sleep", "stripANSI",
];

const Bun = { __proto__: null, file };

function define(names, module) {
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    ObjectDefineProperty(Bun, name, { __proto__: null, enumerable: true, get: () => requireNode(module)[name] });
  }
}

define(SERVE, "internal/bun/serve");
define(ENVIRONMENT, "process");
define(UTILITIES, "internal/bun/utilities");
ObjectFreeze(Bun);

module.exports = { Bun };
