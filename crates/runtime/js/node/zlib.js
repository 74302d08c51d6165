// @ts-check
"use strict";
// What node:zlib needs of the runtime: codecs, which go when their object does, and the CRC-32.

const {
  ArrayIsArray, Float64Array, Number, Uint32Array,
} = require("primordials");
const { asBytes, utf8Encode } = require("infra/bytes");
const { op_codec_free, op_codec_level, op_codec_new, op_codec_reset, op_codec_step, op_crc32 } = require("ops");

const MORE = 1, ENDED = 2;

class Codec {
  #handle;
  #state = new Uint32Array(3);
  /** What is left after a step, in bytes: of the room for output, of the input. */
  room = 0;
  rest = 0;
  ended = false;

  /** `numbers`: of op_codec_new. Throws [message, code, errno]. */
  constructor(kind, numbers, dictionary = undefined) {
    const list = new Float64Array(numbers.length);
    for (let i = 0; i < numbers.length; i++) list[i] = Number(numbers[i]);
    const handle = op_codec_new(this, `${kind}`, list, dictionary === undefined ? undefined : asBytes(dictionary));
    if (ArrayIsArray(handle)) throw handle;
    this.#handle = handle;
  }

  /** All that there is to do with this input and this room for output. [message, code, errno] if it fails. */
  run(flush, input, from, fromLength, output, to, toLength) {
    const state = this.#state;
    flush = Number(flush);
    const end = Number(from) + Number(fromLength), limit = Number(to) + Number(toLength);
    for (;;) {
      const error = op_codec_step(this.#handle, flush, input, end - fromLength, fromLength, output, limit - toLength, toLength, state);
      if (error !== undefined) return error;
      toLength = state[0];
      fromLength = state[1];
      if ((state[2] & MORE) === 0) break;
    }
    this.room = toLength;
    this.rest = fromLength;
    this.ended = (state[2] & ENDED) !== 0;
    return undefined;
  }

  reset() { return op_codec_reset(this.#handle); }
  setLevel(level) { return op_codec_level(this.#handle, Number(level)); }
  close() { op_codec_free(this.#handle); }
}

function crc32(data, value) {
  return op_crc32(typeof data === "string" ? utf8Encode(data) : asBytes(data), Number(value));
}

module.exports = { Codec, crc32 };
