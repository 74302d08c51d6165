"use strict";
// node:assert/strict: assert whose equal, deepEqual, notEqual and notDeepEqual are the strict ones.

module.exports = require("assert").strict;
