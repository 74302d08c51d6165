// @ts-check
"use strict";
// What Node's `util` needs of the runtime.

const { inspect } = require("inspect");

module.exports = { inspect };
