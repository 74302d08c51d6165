// @ts-check
"use strict";
// https://streams.spec.whatwg.org/: the interfaces that apps see, in one place.

const { ByteLengthQueuingStrategy, CountQueuingStrategy } = require("streams/strategies");
const { ReadableStream } = require("streams/readable");
const { ReadableStreamDefaultController, ReadableStreamDefaultReader } = require("streams/readable_default");
const { ReadableByteStreamController, ReadableStreamBYOBReader, ReadableStreamBYOBRequest } = require("streams/readable_byte");
const { WritableStream, WritableStreamDefaultController, WritableStreamDefaultWriter } = require("streams/writable");
const { TransformStream, TransformStreamDefaultController } = require("streams/transform");
const { TextDecoderStream, TextEncoderStream } = require("streams/encoding");

module.exports = {
  ByteLengthQueuingStrategy, CountQueuingStrategy, ReadableByteStreamController, ReadableStream, ReadableStreamBYOBReader,
  ReadableStreamBYOBRequest, ReadableStreamDefaultController, ReadableStreamDefaultReader, TextDecoderStream,
  TextEncoderStream, TransformStream, TransformStreamDefaultController, WritableStream, WritableStreamDefaultController,
  WritableStreamDefaultWriter,
};
