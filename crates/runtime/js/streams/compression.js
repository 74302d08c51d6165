// @ts-check
"use strict";
// CompressionStream and DecompressionStream: https://compression.spec.whatwg.org/, with brotli and zstd as Node and Deno
// name them. Adds to the ops of src/ops/compression.rs.
//
// Deviation: what a chunk comes to is enqueued in pieces, and after some of them the transform waits until the reader
// wants more. So a small chunk that expands to gigabytes takes little memory at a time.

const {
  ArrayIsArray, Float64Array, PromisePrototypeThen, RangeError, TypeError, TypedArrayPrototypeGetBuffer,
  TypedArrayPrototypeGetByteLength, TypedArrayPrototypeSet, Uint8Array, Uint32Array,
} = require("primordials");
const webidl = require("webidl");
const { asBytes } = require("infra/bytes");
const { Transformer, createTransform } = require("streams/transform");
const { op_codec_free, op_codec_new, op_codec_step } = require("ops");

/** Bytes of output at a time. */
const PIECE = 65536;
/** Pieces that are enqueued without a reader that wants them. */
const MAX_PIECES_AHEAD = 16;
// Of the ops: which place of the state is what, and the flags.
const ROOM = 0, REST = 1, FLAGS = 2;
const MORE = 1, ENDED = 2;
/** Numbers of a zlib codec that has the defaults, and that reads one gzip member. */
const PLAIN = new Float64Array(0);
const ONE_MEMBER = new Float64Array(5);
ONE_MEMBER[0] = -1;
ONE_MEMBER[1] = 15;
ONE_MEMBER[2] = 8;
ONE_MEMBER[4] = 2;
/** zstd: an unknown size. */
const UNKNOWN_SIZE = new Float64Array(1);
UNKNOWN_SIZE[0] = -1;
/** brotli at 5 of 11: at 11, its default, it is made for files that are compressed once. */
const BROTLI_QUALITY = new Float64Array(2);
BROTLI_QUALITY[0] = 1;
BROTLI_QUALITY[1] = 5;

const EMPTY = new Uint8Array(0);

class Codec extends Transformer {
  handle;
  /** The format's number for the end of the input. */
  finish;
  decompresses;
  /** The compressed stream is over. */
  ended = false;
  state = new Uint32Array(3);
  output = new Uint8Array(PIECE);

  constructor(kind, numbers, finish, decompresses) {
    super();
    const handle = op_codec_new(this, kind, numbers, undefined);
    if (ArrayIsArray(handle)) throw new RangeError(handle[0]);
    this.handle = handle;
    this.finish = finish;
    this.decompresses = decompresses;
  }

  transform(chunk, transform) {
    const bytes = asBytes(webidl.converters.BufferSource(chunk));
    return this.feed(bytes, 0, 0, transform);
  }

  flush(transform) {
    if (!this.decompresses) return this.feed(EMPTY, 0, this.finish, transform, true);
    op_codec_free(this.handle);
    if (!this.ended) throw new TypeError("The compressed data is not complete");
  }

  cancel() {
    op_codec_free(this.handle);
  }

  /** Enqueues what `bytes` come to from `at` on; a promise where the reader has to be waited for. */
  feed(bytes, at, flush, transform, last = false) {
    const { handle, state, output } = this;
    let ahead = 0;
    for (;;) {
      const length = TypedArrayPrototypeGetByteLength(bytes) - at;
      if (this.ended && length > 0 && !this.continues) throw new TypeError("There is more after the end of the compressed data");
      const error = op_codec_step(handle, flush, bytes, at, length, output, 0, PIECE, state);
      if (error !== undefined) throw new TypeError(`The data cannot be ${this.decompresses ? "de" : ""}compressed: ${error[0]}`);
      at += length - state[REST];
      this.ended = (state[FLAGS] & ENDED) !== 0;
      const written = PIECE - state[ROOM];
      if (written > 0) {
        const piece = new Uint8Array(written);
        TypedArrayPrototypeSet(piece, new Uint8Array(TypedArrayPrototypeGetBuffer(output), 0, written));
        transform.enqueue(piece);
      }
      const isOver = this.ended ? state[REST] === 0 : written < PIECE && (state[FLAGS] & MORE) === 0;
      if (isOver) {
        if (last) op_codec_free(handle);
        return undefined;
      }
      if (written > 0 && transform.backpressure && ++ahead >= MAX_PIECES_AHEAD) {
        return PromisePrototypeThen(transform.change.get(), () => {
          // The reader has cancelled the stream, or it has failed.
          if (transform.transformer === undefined && !last) return undefined;
          return this.feed(bytes, at, flush, transform, last);
        });
      }
    }
  }

  /** zstd has frame after frame. */
  get continues() {
    return this.decompresses && this.finish === 2;
  }
}

const toFormat = webidl.createEnumConverter("CompressionFormat", ["deflate", "deflate-raw", "gzip", "brotli", "zstd"]);

function compressor(format) {
  switch (format) {
    case "brotli": return new Codec("brotli", BROTLI_QUALITY, 2, false);
    case "zstd": return new Codec("zstd", UNKNOWN_SIZE, 2, false);
    default: return new Codec(format, PLAIN, 4, false);
  }
}

function decompressor(format) {
  switch (format) {
    case "brotli": return new Codec("unbrotli", PLAIN, 0, true);
    case "zstd": return new Codec("unzstd", UNKNOWN_SIZE, 2, true);
    case "gzip": return new Codec("gunzip", ONE_MEMBER, 0, true);
    case "deflate": return new Codec("inflate", PLAIN, 0, true);
    default: return new Codec("inflate-raw", PLAIN, 0, true);
  }
}

class CompressionStream {
  #transform;

  constructor(format) {
    const prefix = "Failed to construct 'CompressionStream'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    this.#transform = createTransform(compressor(toFormat(format, prefix, "Argument 1")));
  }

  get readable() {
    return this.#transform.readable;
  }

  get writable() {
    return this.#transform.writable;
  }
}
webidl.configureInterface(CompressionStream);

class DecompressionStream {
  #transform;

  constructor(format) {
    const prefix = "Failed to construct 'DecompressionStream'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    this.#transform = createTransform(decompressor(toFormat(format, prefix, "Argument 1")));
  }

  get readable() {
    return this.#transform.readable;
  }

  get writable() {
    return this.#transform.writable;
  }
}
webidl.configureInterface(DecompressionStream);

module.exports = { CompressionStream, DecompressionStream };
