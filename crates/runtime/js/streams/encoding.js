// @ts-check
"use strict";
// TextEncoderStream and TextDecoderStream: https://encoding.spec.whatwg.org/#interface-textencoderstream and
// #interface-textdecoderstream.

const { FunctionPrototypeCall, StringPrototypeCharCodeAt, StringPrototypeSlice } = require("primordials");
const webidl = require("webidl");
const { TextDecoder, decode, describeDecoder } = require("encoding/text");
const { Transformer, createTransform } = require("streams/transform");
const { op_text_encode } = require("ops");

const { converters } = webidl;

class Encoder extends Transformer {
  /** A high surrogate at the end of the last chunk, which may yet find its other half. */
  pending = "";

  transform(chunk, transform) {
    let text = converters.DOMString(chunk);
    if (text === "") return;
    text = this.pending + text;
    const last = StringPrototypeCharCodeAt(text, text.length - 1);
    if (last >= 0xd800 && last <= 0xdbff) {
      this.pending = StringPrototypeSlice(text, -1);
      text = StringPrototypeSlice(text, 0, -1);
    } else {
      this.pending = "";
    }
    if (text !== "") transform.enqueue(op_text_encode(text));
  }

  flush(transform) {
    if (this.pending !== "") transform.enqueue(op_text_encode(this.pending)); // becomes U+FFFD
  }
}

class TextEncoderStream {
  #transform = createTransform(new Encoder());

  constructor() {}

  get encoding() {
    this.#transform; // the brand check
    return "utf-8";
  }

  get readable() {
    return this.#transform.readable;
  }

  get writable() {
    return this.#transform.writable;
  }
}
webidl.configureInterface(TextEncoderStream);

const STREAM = { __proto__: null, stream: true };
const bufferOptions = { __proto__: null, allowShared: true };

class Decoder extends Transformer {
  decoder;

  constructor(decoder) {
    super();
    this.decoder = decoder;
  }

  transform(chunk, transform) {
    const text = FunctionPrototypeCall(decode, this.decoder, converters.BufferSource(chunk, undefined, undefined, bufferOptions), STREAM);
    if (text !== "") transform.enqueue(text);
  }

  flush(transform) {
    const text = FunctionPrototypeCall(decode, this.decoder);
    if (text !== "") transform.enqueue(text);
  }
}

/** @type {(stream: any) => any} Its two ends. */
let transformOf;

class TextDecoderStream {
  #decoder;
  #transform;

  constructor(label = "utf-8", options = undefined) {
    this.#decoder = new TextDecoder(label, options);
    this.#transform = createTransform(new Decoder(this.#decoder));
  }

  get encoding() {
    return describeDecoder.encoding(this.#decoder);
  }

  get fatal() {
    return describeDecoder.fatal(this.#decoder);
  }

  get ignoreBOM() {
    return describeDecoder.ignoreBOM(this.#decoder);
  }

  get readable() {
    return this.#transform.readable;
  }

  get writable() {
    return this.#transform.writable;
  }

  static {
    transformOf = (stream) => stream.#transform;
  }
}
webidl.configureInterface(TextDecoderStream);

module.exports = { TextEncoderStream, TextDecoderStream, transformOf };
