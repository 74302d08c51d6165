"use strict";
// node:stream/promises (https://nodejs.org/api/stream.html#streams-promises-api).

const { finished, pipeline } = require("internal/readable-stream/lib/stream/promises");

module.exports = { finished, pipeline };
