"use strict";
// process.stdout and process.stderr: writable streams whose lines are records of the app's log.

const { Writable } = require("stream");
const process = require("process");
const { log } = binding("process");

/** A line that has no end yet is written when the code that writes it has come to rest. */
module.exports = function makeOutput(level) {
  const decoder = new TextDecoder();
  let rest = "";
  let isFlushing = false;

  function flush() {
    isFlushing = false;
    if (rest === "") return;
    const line = rest;
    rest = "";
    log(level, line);
  }

  const stream = new Writable({
    decodeStrings: false,
    write(chunk, encoding, callback) {
      rest += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
      const end = rest.lastIndexOf("\n");
      if (end >= 0) {
        const lines = rest.slice(0, end);
        rest = rest.slice(end + 1);
        log(level, lines);
      }
      if (rest !== "" && !isFlushing) {
        isFlushing = true;
        process.nextTick(flush);
      }
      callback();
    },
    // It cannot be closed for all others.
    destroy(error, callback) { callback(error); },
  });
  stream.fd = level === "error" ? 2 : 1;
  stream._type = "pipe";
  stream._isStdio = true;
  stream.isTTY = false;
  stream.destroySoon = stream.destroy;
  stream.hasColors = () => false;
  stream.getColorDepth = () => 1;
  return stream;
};
