// @ts-check
"use strict";
// TextEncoder and TextDecoder (https://encoding.spec.whatwg.org/#api). The ops know the encodings; this adds the
// interfaces and the state of a decoder that is fed piece by piece: a native one, made with the first piece and freed
// after the last, or when its TextDecoder is garbage.
//
// Deviation: after an error in the middle of a stream a fatal decoder begins anew, as if nothing had come before.

const {
  RangeError, SafeFinalizationRegistry, Uint32Array, Uint8Array, StringPrototypeToWellFormed,
} = require("primordials");
const webidl = require("webidl");
const { converters } = webidl;
const { bufferOf, byteLengthOf, copyBytes } = require("infra/bytes");
const {
  op_encoding_label, op_text_decode, op_text_decoder_decode, op_text_decoder_free, op_text_decoder_new, op_text_encode,
  op_text_encode_into,
} = require("ops");

const NOTHING = new Uint8Array(0);

const convertDecoderOptions = webidl.createDictionaryConverter("TextDecoderOptions", [
  { key: "fatal", converter: converters.boolean, defaultValue: false },
  { key: "ignoreBOM", converter: converters.boolean, defaultValue: false },
]);
const convertDecodeOptions = webidl.createDictionaryConverter("TextDecodeOptions", [
  { key: "stream", converter: converters.boolean, defaultValue: false },
]);
const bufferOptions = { __proto__: null, allowShared: true, allowResizable: true };

/** @type {any} made late: a snapshot cannot hold one */
let registry;

/** @type {any} For TextDecoderStream: its attributes. */
let describeDecoder;

class TextDecoder {
  #encoding;
  #fatal;
  #ignoreBOM;
  /** The native decoder in the middle of a stream; 0: none. */
  #decoder = 0;

  constructor(label = "utf-8", options = undefined) {
    const prefix = "Failed to construct 'TextDecoder'";
    label = converters.DOMString(label, prefix, "Argument 1");
    const { fatal, ignoreBOM } = convertDecoderOptions(options, prefix, "Argument 2");
    const encoding = label === "utf-8" ? label : op_encoding_label(label);
    if (encoding === undefined || encoding === "replacement") {
      throw new RangeError(`${prefix}: The encoding label '${StringPrototypeToWellFormed(label)}' is unknown`);
    }
    this.#encoding = encoding;
    this.#fatal = fatal;
    this.#ignoreBOM = ignoreBOM;
  }

  get encoding() { return this.#encoding; }
  get fatal() { return this.#fatal; }
  get ignoreBOM() { return this.#ignoreBOM; }

  decode(input = undefined, options = undefined) {
    const prefix = "Failed to execute 'decode' on 'TextDecoder'";
    if (!(#decoder in this)) throw webidl.brandError(prefix);
    let bytes = NOTHING;
    if (input !== undefined) {
      bytes = converters.BufferSource(input, prefix, "Argument 1", bufferOptions);
      // The ops need memory that other code does not write to.
      if (!webidl.isArrayBuffer(bufferOf(bytes))) bytes = copyBytes(bytes);
    }
    const stream = options === undefined ? false : convertDecodeOptions(options, prefix, "Argument 2").stream;
    if (!stream && this.#decoder === 0) return op_text_decode(this.#encoding, bytes, this.#fatal, this.#ignoreBOM);
    return this.#decodePiece(bytes, !stream);
  }

  static {
    describeDecoder = {
      __proto__: null,
      encoding: (decoder) => decoder.#encoding,
      fatal: (decoder) => decoder.#fatal,
      ignoreBOM: (decoder) => decoder.#ignoreBOM,
    };
  }

  #decodePiece(bytes, last) {
    if (this.#decoder === 0) {
      this.#decoder = op_text_decoder_new(this.#encoding, this.#fatal, this.#ignoreBOM);
      if (registry === undefined) registry = new SafeFinalizationRegistry((decoder) => op_text_decoder_free(decoder));
      registry.register(this, this.#decoder, this);
    }
    let done = true;
    try {
      const text = op_text_decoder_decode(this.#decoder, bytes, last);
      done = last;
      return text;
    } finally {
      if (done) {
        registry.unregister(this);
        op_text_decoder_free(this.#decoder);
        this.#decoder = 0;
      }
    }
  }
}
webidl.configureInterface(TextDecoder);

/** As it is now: an app may change the prototype. */
const { decode } = TextDecoder.prototype;

/** What op_text_encode_into found: code units read, bytes written. */
const progress = new Uint32Array(2);

class TextEncoder {
  #encoding = "utf-8";

  constructor() {}
  get encoding() { return this.#encoding; }

  encode(input = "") {
    const prefix = "Failed to execute 'encode' on 'TextEncoder'";
    if (!(#encoding in this)) throw webidl.brandError(prefix);
    return op_text_encode(converters.DOMString(input, prefix, "Argument 1"));
  }

  encodeInto(source, destination) {
    const prefix = "Failed to execute 'encodeInto' on 'TextEncoder'";
    if (!(#encoding in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 2, prefix);
    source = converters.DOMString(source, prefix, "Argument 1");
    destination = converters.Uint8Array(destination, prefix, "Argument 2", bufferOptions);
    if (webidl.isArrayBuffer(bufferOf(destination))) {
      op_text_encode_into(source, destination, progress);
    } else {
      const own = new Uint8Array(byteLengthOf(destination));
      op_text_encode_into(source, own, progress);
      for (let i = 0; i < progress[1]; i++) destination[i] = own[i];
    }
    return { read: progress[0], written: progress[1] };
  }
}
webidl.configureInterface(TextEncoder);

module.exports = { TextEncoder, TextDecoder, decode, describeDecoder };
