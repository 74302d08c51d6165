"use strict";
// node:stream (https://nodejs.org/api/stream.html): the package readable-stream (internal/readable-stream/README.md) with
// what it lacks: the bridges to web streams, duplexPair, stream.promises.

const Stream = require("internal/readable-stream/lib/stream");
const { addMissing } = require("internal/streams/additions");

addMissing(Stream);
module.exports = Stream;
