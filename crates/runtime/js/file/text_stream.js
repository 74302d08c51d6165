// @ts-check
"use strict";
// textStream() of Blob (https://w3c.github.io/FileAPI/#dom-blob-textstream) and of Body
// (https://fetch.spec.whatwg.org/#dom-body-textstream): a stream of bytes through a TextDecoderStream for UTF-8.

const { ObjectGetOwnPropertyDescriptor, uncurryThis } = require("primordials");
const { ReadableStream } = require("streams/readable");
const { TextDecoderStream } = require("streams/encoding");

const pipeThrough = uncurryThis(ReadableStream.prototype.pipeThrough);
const getReadable = uncurryThis(ObjectGetOwnPropertyDescriptor(TextDecoderStream.prototype, "readable").get);
const getWritable = uncurryThis(ObjectGetOwnPropertyDescriptor(TextDecoderStream.prototype, "writable").get);

/** Throws when the stream is locked. */
function decodeStream(stream) {
  const decoder = new TextDecoderStream();
  return pipeThrough(stream, { __proto__: null, readable: getReadable(decoder), writable: getWritable(decoder) });
}

module.exports = { decodeStream };
