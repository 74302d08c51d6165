// @ts-check
"use strict";
// textStream() of Blob (https://w3c.github.io/FileAPI/#dom-blob-textstream) and of Body
// (https://fetch.spec.whatwg.org/#dom-body-textstream): a stream of bytes through a TextDecoderStream for UTF-8.

const { FunctionPrototypeCall } = require("primordials");
const { pipeThrough } = require("streams/readable");
const { TextDecoderStream, transformOf } = require("streams/encoding");

/** Throws when the stream is locked. */
function decodeStream(stream) {
  const { readable, writable } = transformOf(new TextDecoderStream());
  return FunctionPrototypeCall(pipeThrough, stream, { __proto__: null, readable, writable });
}

module.exports = { decodeStream };
