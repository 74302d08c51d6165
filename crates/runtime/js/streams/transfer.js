// @ts-check
"use strict";
// Transfer of streams within a worker (https://streams.spec.whatwg.org/#rs-transfer, #ws-transfer): the stream is piped into one
// that takes its place, and each chunk is cloned on the way.

const { FunctionPrototypeCall } = require("primordials");
const { DOMException } = require("dom/exception");
const { structuredClone } = require("structured_clone");
const { pipeThrough, stateOfReadable } = require("streams/readable");
const { stateOfWritable } = require("streams/writable");
const { Transformer, createTransform } = require("streams/transform");

class Cloner extends Transformer {
  transform(chunk, transform) {
    transform.enqueue(structuredClone(chunk));
  }

  flush() {}
}

function lockedError(prefix) {
  return new DOMException(`${prefix}: a stream that is locked cannot be transferred`, "DataCloneError");
}

/** [the new stream, a function that connects it] */
function transferReadable(stream, prefix) {
  if (stateOfReadable(stream).reader !== undefined) throw lockedError(prefix);
  const { readable, writable } = createTransform(new Cloner());
  return [readable, () => { FunctionPrototypeCall(pipeThrough, stream, { __proto__: null, readable, writable }); }];
}

function transferWritable(stream, prefix) {
  if (stateOfWritable(stream).writer !== undefined) throw lockedError(prefix);
  const { readable, writable } = createTransform(new Cloner());
  return [writable, () => { FunctionPrototypeCall(pipeThrough, readable, { __proto__: null, readable, writable: stream }); }];
}

module.exports = { transferReadable, transferWritable };
