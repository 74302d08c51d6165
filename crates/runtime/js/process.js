// @ts-check
"use strict";
// `process`, as far as packages and code that was written for servers ask for it: the app's environment above all. It does not
// pass for Node's: `versions` has no `node`, `version` is empty, and `browser` is true, so that packages with a part for each
// take the one without Node's modules. Signals and the exit never come, so that listeners for them are accepted and not called.

const {
  ObjectDefineProperty, ObjectFreeze, ReflectApply, ReflectOwnKeys, TypeError,
} = require("primordials");
const { queueMicrotask } = require("dom/report");
const { environment } = require("environment");

function set(target, name, value) {
  ObjectDefineProperty(target, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
}

/** A copy, which an app may change for itself as it may in Node. */
function makeEnv() {
  const values = {};
  set(values, "NODE_ENV", "production");
  const given = environment();
  const names = ReflectOwnKeys(given);
  for (let i = 0; i < names.length; i++) set(values, names[i], given[names[i]]);
  return values;
}

function nextTick(callback, ...values) {
  if (typeof callback !== "function") throw new TypeError("process.nextTick: the callback is not a function");
  queueMicrotask(() => ReflectApply(callback, undefined, values));
}

function listen() {
  return process;
}

const process = {
  __proto__: null,
  env: makeEnv(),
  argv: ["hearth", "/"],
  execArgv: [],
  title: "hearth",
  platform: "linux",
  browser: true,
  version: "",
  versions: ObjectFreeze({ __proto__: null }),
  release: ObjectFreeze({ __proto__: null, name: "hearth" }),
  exitCode: undefined,
  cwd: () => "/",
  nextTick,
  on: listen,
  once: listen,
  off: listen,
  addListener: listen,
  removeListener: listen,
  emitWarning() {},
};

module.exports = { process };
