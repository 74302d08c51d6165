"use strict";
// process.stdin: a stream that is at its end, since the input of an app is its requests.

const { Readable } = require("stream");

module.exports = function makeInput() {
  const stream = new Readable({ read() { this.push(null); } });
  stream.fd = 0;
  stream.isTTY = false;
  stream.isRaw = false;
  stream.setRawMode = () => stream;
  stream.ref = stream.unref = () => stream;
  return stream;
};
