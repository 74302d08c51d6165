// @ts-check
"use strict";
// What Node's `process` needs of the runtime.

const { ObjectDefineProperty, ReflectOwnKeys } = require("primordials");
const { environment } = require("environment");

/** The app's environment: a copy, which an app may change for itself as it may in Node. */
function makeEnv() {
  const values = {};
  set(values, "NODE_ENV", "production");
  const given = environment();
  const names = ReflectOwnKeys(given);
  for (let i = 0; i < names.length; i++) set(values, names[i], given[names[i]]);
  return values;
}

function set(target, name, value) {
  ObjectDefineProperty(target, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
}

module.exports = { makeEnv };
