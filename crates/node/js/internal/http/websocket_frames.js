"use strict";
// Frames of WebSockets (RFC 6455, 5.2) between a package's own implementation and Hearth's: `frame` makes those of a client,
// and FrameReader reads those of a server. Frames of clients have a mask of zeros, which leaves the bytes as they are: they
// never leave the worker.

const { Buffer } = require("buffer");

const CONTINUATION = 0, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10;
/** The longest message that a server may send in pieces. */
const MAX_MESSAGE = 64 * 1024 * 1024;
const EMPTY = Buffer.alloc(0);

function frame(opcode, payload) {
  const { length } = payload;
  const extended = length < 126 ? 0 : length < 65536 ? 2 : 8;
  const head = Buffer.alloc(6 + extended);
  head[0] = 0x80 | opcode;
  head[1] = 0x80 | (extended === 0 ? length : extended === 2 ? 126 : 127);
  if (extended === 2) head.writeUInt16BE(length, 2);
  else if (extended === 8) head.writeBigUInt64BE(BigInt(length), 2);
  return length === 0 ? head : Buffer.concat([head, payload]);
}

class FrameReader {
  #held = EMPTY;
  #parts = [];
  #size = 0;
  #opcode = 0;
  #onMessage;

  /** `onMessage(opcode, payload)`: TEXT and BINARY whole, and CLOSE, PING, PONG. */
  constructor(onMessage) {
    this.#onMessage = onMessage;
  }

  /** Throws where the bytes are no frames. */
  execute(bytes) {
    let data = this.#held.length > 0 ? Buffer.concat([this.#held, bytes]) : bytes;
    for (;;) {
      const rest = this.#next(data);
      if (rest === undefined) break;
      data = rest;
    }
    this.#held = data;
  }

  #next(data) {
    if (data.length < 2) return undefined;
    const [first, second] = data;
    const kind = second & 0x7f;
    const extended = kind < 126 ? 0 : kind === 126 ? 2 : 8;
    const start = 2 + extended + (second & 0x80 ? 4 : 0);
    if (data.length < start) return undefined;
    const length = extended === 0 ? kind : extended === 2 ? data.readUInt16BE(2) : Number(data.readBigUInt64BE(2));
    if (length + this.#size > MAX_MESSAGE) throw new RangeError("a WebSocket message is longer than 64 MB");
    if (first & 0x70) throw new Error("a WebSocket frame has bits that were not agreed on");
    if (data.length < start + length) return undefined;
    const payload = data.subarray(start, start + length);
    if (second & 0x80) unmask(payload, data.subarray(start - 4, start));
    this.#frame(first, payload);
    return data.subarray(start + length);
  }

  #frame(first, payload) {
    const opcode = first & 0x0f;
    if (opcode >= CLOSE) {
      this.#onMessage(opcode, payload);
      return;
    }
    if (opcode !== CONTINUATION) this.#opcode = opcode;
    if (first & 0x80 && this.#parts.length === 0) {
      this.#onMessage(this.#opcode, payload);
      return;
    }
    this.#parts.push(payload);
    this.#size += payload.length;
    if (!(first & 0x80)) return;
    const whole = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#size = 0;
    this.#onMessage(this.#opcode, whole);
  }
}

function unmask(payload, mask) {
  for (let i = 0; i < payload.length; i++) payload[i] ^= mask[i & 3];
}

module.exports = { BINARY, CLOSE, FrameReader, PING, PONG, TEXT, frame };
