// @ts-check
"use strict";
// The app's environment: what handlers get as `env`, and `process.env` and `event.env` show.

const { ObjectFreeze } = require("primordials");

let given = ObjectFreeze({ __proto__: null });

/** Frozen. */
function environment() {
  return given;
}

function setEnvironment(values) {
  given = values;
}

module.exports = { environment, setEnvironment };
