"use strict";
// node:util (https://nodejs.org/api/util.html): as yet inspect, as the console has it.

const { inspect } = binding("util");

module.exports = { inspect: (value) => inspect(value) };
