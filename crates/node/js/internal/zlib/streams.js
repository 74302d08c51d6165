"use strict";
// The streams of node:zlib (https://nodejs.org/api/zlib.html): a Transform over a codec. They are functions and not classes,
// as they were for long, because packages call them upon objects of their own (`zlib.Inflate.call(this, options)`).

const { Buffer, kMaxLength } = require("buffer");
const { Transform, finished } = require("stream");
const { codes } = require("internal/errors");
const { checkRangesOrGetDefault, validateBoolean, validateFiniteNumber } = require("internal/validators");
const { constants } = require("internal/zlib/constants");
const { codecError, openBrotli, openZlib, openZstd } = require("internal/zlib/codec");

const { nextTick } = require("process");
const { ERR_BUFFER_TOO_LARGE, ERR_OUT_OF_RANGE, ERR_TRAILING_JUNK_AFTER_STREAM_END } = codes;
const {
  BROTLI_DECODE, BROTLI_ENCODE, DEFLATE, DEFLATERAW, GUNZIP, GZIP, INFLATE, INFLATERAW, UNZIP, ZSTD_COMPRESS, ZSTD_DECOMPRESS,
  Z_DEFAULT_CHUNK, Z_DEFAULT_STRATEGY, Z_FIXED, Z_MAX_LEVEL, Z_MIN_CHUNK, Z_MIN_LEVEL, Z_NO_FLUSH, Z_FINISH, Z_FULL_FLUSH,
  Z_BLOCK, Z_PARTIAL_FLUSH, Z_SYNC_FLUSH,
} = constants;

/** How a format flushes: while it runs, at the end, by flush(); and the largest number. */
const ZLIB_FLUSHES = { flush: Z_NO_FLUSH, finish: Z_FINISH, full: Z_FULL_FLUSH, max: Z_BLOCK };
const BROTLI_FLUSHES = { flush: 0, finish: 2, full: 1, max: 3 };
const ZSTD_FLUSHES = { flush: 0, finish: 2, full: 1, max: 2 };
/** From weak to strong. Brotli's and zstd's numbers are in this order by themselves. */
const STRENGTH = [Z_NO_FLUSH, Z_BLOCK, Z_PARTIAL_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_FINISH];
/** Pieces of output between which other events have their turn. */
const MAX_PIECES_AT_ONCE = 64;

const kFlush = Symbol("kFlush");
const kError = Symbol("kError");
/** Written instead of data, in order with it: a flush. */
const flushMarks = STRENGTH.map((_, flush) => Object.assign(Buffer.alloc(0), { [kFlush]: flush }));

function ZlibBase(options, mode, codec, flushes) {
  let chunkSize = Z_DEFAULT_CHUNK;
  let { flush, finish } = flushes;
  let maxOutputLength = kMaxLength;
  if (options) {
    if (validateFiniteNumber(options.chunkSize, "options.chunkSize")) {
      chunkSize = options.chunkSize;
      if (chunkSize < Z_MIN_CHUNK) throw new ERR_OUT_OF_RANGE("options.chunkSize", `>= ${Z_MIN_CHUNK}`, chunkSize);
    }
    flush = checkRangesOrGetDefault(options.flush, "options.flush", 0, flushes.max, flush);
    finish = checkRangesOrGetDefault(options.finishFlush, "options.finishFlush", 0, flushes.max, finish);
    maxOutputLength = checkRangesOrGetDefault(options.maxOutputLength, "options.maxOutputLength", 1, kMaxLength, kMaxLength);
    if (options.rejectGarbageAfterEnd !== undefined) {
      validateBoolean(options.rejectGarbageAfterEnd, "options.rejectGarbageAfterEnd");
    }
    if (options.encoding || options.objectMode || options.writableObjectMode) {
      options = { ...options, encoding: null, objectMode: false, writableObjectMode: false };
    }
  }
  Reflect.apply(Transform, this, [{ autoDestroy: true, ...options }]);
  this[kError] = null;
  this.bytesWritten = 0;
  this._handle = new Handle(this, codec);
  this._writeState = this._handle.state;
  this._chunkSize = Math.trunc(chunkSize);
  this._outBuffer = Buffer.allocUnsafe(this._chunkSize);
  this._outOffset = 0;
  this._mode = mode;
  this._flushes = flushes;
  this._defaultFlushFlag = flush;
  this._finishFlushFlag = finish;
  this._defaultFullFlushFlag = flushes.full;
  this._info = options?.info;
  this._maxOutputLength = maxOutputLength;
  this._rejectGarbageAfterEnd = options?.rejectGarbageAfterEnd === true;
}
Object.setPrototypeOf(ZlibBase.prototype, Transform.prototype);
Object.setPrototypeOf(ZlibBase, Transform);

/** The codec as packages know Node's handle: writeSync, reset, close; `state` is room for output and rest of input. */
class Handle {
  #codec;
  #owner;
  state = new Uint32Array(2);
  /** A chunk is being processed, later. */
  isWriting = false;

  constructor(owner, codec) {
    this.#owner = owner;
    this.#codec = codec;
  }

  /** Node's own answers nothing: packages look at `state`, and take what it answers for the state of older versions. */
  writeSync(flush, input, inOffset, inLength, output, outOffset, outLength) {
    this.run(flush, input, inOffset, inLength, output, outOffset, outLength);
  }

  /** False if it fails: the owner is destroyed then. */
  run(flush, input, inOffset, inLength, output, outOffset, outLength) {
    checkRange("in_len", input, inOffset, inLength);
    checkRange("out_len", output, outOffset, outLength);
    const error = this.#codec.run(flush, input ?? new Uint8Array(0), inOffset, inLength, output, outOffset, outLength);
    if (error !== undefined) {
      const made = codecError(error);
      this.#owner[kError] = made;
      this.#owner.destroy(made);
      return false;
    }
    this.state[0] = this.#codec.room;
    this.state[1] = this.#codec.rest;
    return true;
  }

  reset() {
    if (this.isWriting) throw new Error("Cannot reset zlib stream while a write is in progress");
    fail(this.#owner, this.#codec.reset());
  }

  /** zlib-rs refuses some changes in the middle of a stream: it goes on with the level that it has. */
  params(level) { this.#codec.setLevel(level); }
  close() { this.#codec.close(); }
}

const byteLengthOf = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), "byteLength").get;

/** Of a view's own bytes, whatever it says of itself. */
function checkRange(name, view, offset, length) {
  if (!(view instanceof Uint8Array)) return;
  const most = Reflect.apply(byteLengthOf, view, []) - offset;
  if (!(length >= 0 && length <= most)) throw new ERR_OUT_OF_RANGE(name, `>= 0 && <= ${most}`, length);
}

function fail(stream, error) {
  if (error !== undefined) stream.destroy(codecError(error));
}

function close(stream) {
  stream._handle?.close();
  stream._handle = null;
}

/** One piece of output, from the buffer that the stream fills; undefined: there is none, null: it failed. */
function nextPiece(stream, flush, input, offset) {
  const { _outBuffer: buffer, _outOffset: from } = stream;
  const room = buffer.length - from;
  if (!stream._handle.run(flush, input, offset, input.byteLength - offset, buffer, from, room)) return null;
  const written = room - stream._writeState[0];
  stream._outOffset = from + written;
  if (stream._outOffset >= buffer.length) {
    stream._outBuffer = Buffer.allocUnsafe(stream._chunkSize);
    stream._outOffset = 0;
  }
  return written === 0 ? undefined : buffer.subarray(from, from + written);
}

/** All output for an input at once; closes the stream. */
function processSync(stream, input, flush) {
  const pieces = [];
  let length = 0;
  let offset = 0;
  let thrown;
  stream.on("error", (error) => { thrown = error; });
  for (;;) {
    const piece = nextPiece(stream, flush, input, offset);
    if (piece === null) throw thrown ?? stream[kError];
    if (piece !== undefined) {
      pieces.push(piece);
      length += piece.length;
      if (length > stream._maxOutputLength) {
        close(stream);
        throw new ERR_BUFFER_TOO_LARGE(stream._maxOutputLength);
      }
    }
    offset = input.byteLength - stream._writeState[1];
    if (stream._writeState[0] !== 0) break;
  }
  if (offset < input.byteLength && stream._rejectGarbageAfterEnd) {
    close(stream);
    throw new ERR_TRAILING_JUNK_AFTER_STREAM_END();
  }
  stream.bytesWritten = offset;
  close(stream);
  return pieces.length === 1 ? pieces[0] : Buffer.concat(pieces, length);
}

/** Pushes the output for an input, as fast as the reader takes it, and calls back. */
function process(stream, input, flush, callback) {
  let offset = 0;
  let pieces = 0;
  const handle = stream._handle;
  handle.isWriting = true;
  const done = (error = undefined) => {
    handle.isWriting = false;
    callback(error);
  };
  const step = () => {
    for (;;) {
      // The stream has been closed meanwhile.
      if (!stream._handle || stream.destroyed) return done();
      const piece = nextPiece(stream, flush, input, offset);
      if (piece === null) return undefined;
      const after = input.byteLength - stream._writeState[1];
      stream.bytesWritten += after - offset;
      offset = after;
      const isFull = piece !== undefined && !stream.push(piece);
      if (stream.destroyed) return done();
      if (stream._writeState[0] !== 0) return end();
      if (isFull) return whenRead(stream, step);
      if (++pieces % MAX_PIECES_AT_ONCE === 0) return void setImmediate(step);
    }
  };
  const end = () => {
    // Input is left though there was room: the compressed stream is over.
    if (offset < input.byteLength) {
      if (stream._rejectGarbageAfterEnd) {
        const error = new ERR_TRAILING_JUNK_AFTER_STREAM_END();
        stream.destroy(error);
        return done(error);
      }
      stream.push(null);
    }
    return done();
  };
  setImmediate(step);
}

/** Goes on when the reader asks for more. */
function whenRead(stream, step) {
  const read = stream._read;
  stream._read = (size) => {
    stream._read = read;
    step();
    stream._read(size);
  };
}

Object.defineProperty(ZlibBase.prototype, "_closed", {
  __proto__: null, configurable: true, enumerable: true, get() { return !this._handle; },
});

const methods = {
  reset() {
    if (!this._handle) throw new codes.ERR_INTERNAL_ASSERTION("zlib binding closed");
    return this._handle.reset();
  },

  _flush(callback) {
    this._transform(Buffer.alloc(0), "", callback);
  },

  _final(callback) {
    callback();
  },

  flush(kind, callback) {
    if (typeof kind === "function" || (kind === undefined && !callback)) {
      callback = kind;
      kind = undefined;
    }
    kind = checkRangesOrGetDefault(kind, "kind", 0, this._flushes.max, this._defaultFullFlushFlag);
    if (this.writableFinished) {
      if (callback) nextTick(callback);
    } else if (this.writableEnded) {
      if (callback) this.once("end", callback);
    } else {
      this.write(flushMarks[kind], "", callback);
    }
  },

  close(callback) {
    if (callback) finished(this, callback);
    this.destroy();
  },

  _destroy(error, callback) {
    close(this);
    callback(error);
  },

  _transform(chunk, encoding, callback) {
    let flush = chunk[kFlush] ?? this._defaultFlushFlag;
    const isLast = this.writableEnded && this.writableLength === chunk.byteLength;
    if (isLast && STRENGTH.indexOf(this._finishFlushFlag) > STRENGTH.indexOf(flush)) flush = this._finishFlushFlag;
    this._processChunk(chunk, flush, callback);
  },

  _processChunk(chunk, flush, callback) {
    if (typeof callback !== "function") return processSync(this, chunk, flush);
    if (!this._handle) return nextTick(callback);
    return process(this, chunk, flush, callback);
  },
};
for (const name of Object.keys(methods)) {
  Object.defineProperty(ZlibBase.prototype, name, {
    __proto__: null, value: methods[name], writable: true, enumerable: false, configurable: true,
  });
}

function Zlib(options, mode) {
  const { codec, level, strategy } = openZlib(mode, options);
  Reflect.apply(ZlibBase, this, [options, mode, codec, ZLIB_FLUSHES]);
  this._level = level;
  this._strategy = strategy;
}
inherit(Zlib, ZlibBase);

Object.defineProperty(Zlib.prototype, "params", {
  __proto__: null, writable: true, configurable: true,
  value: function params(level, strategy, callback) {
    checkRangesOrGetDefault(level, "level", Z_MIN_LEVEL, Z_MAX_LEVEL);
    checkRangesOrGetDefault(strategy, "strategy", Z_DEFAULT_STRATEGY, Z_FIXED);
    if (this._level === level && this._strategy === strategy) return void nextTick(callback);
    this.flush(Z_SYNC_FLUSH, () => {
      if (!this._handle) throw new codes.ERR_INTERNAL_ASSERTION("zlib binding closed");
      this._handle.params(level);
      if (this.destroyed) return;
      this._level = level;
      this._strategy = strategy;
      if (callback) callback();
    });
  },
});

function Brotli(options, mode) {
  Reflect.apply(ZlibBase, this, [options, mode, openBrotli(mode, options), BROTLI_FLUSHES]);
}
inherit(Brotli, ZlibBase);

function Zstd(options, mode) {
  Reflect.apply(ZlibBase, this, [options, mode, openZstd(mode, options), ZSTD_FLUSHES]);
}
inherit(Zstd, ZlibBase);

function inherit(Class, Base) {
  Object.setPrototypeOf(Class.prototype, Base.prototype);
  Object.setPrototypeOf(Class, Base);
}

function makeClass(name, Base, mode, adapt = undefined) {
  const Class = function (options) {
    if (!(this instanceof Class)) throw new TypeError(`Class constructor ${name} cannot be invoked without 'new'`);
    adapt?.(options);
    Reflect.apply(Base, this, [options, mode]);
  };
  Object.defineProperty(Class, "name", { __proto__: null, value: name, configurable: true });
  inherit(Class, Base);
  return Class;
}

/** zlib cannot write raw streams with a window of 256 bytes. */
function widen(options) {
  if (options && options.windowBits === 8) options.windowBits = 9;
}

module.exports = {
  Deflate: makeClass("Deflate", Zlib, DEFLATE),
  Inflate: makeClass("Inflate", Zlib, INFLATE),
  Gzip: makeClass("Gzip", Zlib, GZIP),
  Gunzip: makeClass("Gunzip", Zlib, GUNZIP),
  DeflateRaw: makeClass("DeflateRaw", Zlib, DEFLATERAW, widen),
  InflateRaw: makeClass("InflateRaw", Zlib, INFLATERAW),
  Unzip: makeClass("Unzip", Zlib, UNZIP),
  BrotliCompress: makeClass("BrotliCompress", Brotli, BROTLI_ENCODE),
  BrotliDecompress: makeClass("BrotliDecompress", Brotli, BROTLI_DECODE),
  ZstdCompress: makeClass("ZstdCompress", Zstd, ZSTD_COMPRESS),
  ZstdDecompress: makeClass("ZstdDecompress", Zstd, ZSTD_DECOMPRESS),
};
