"use strict";
// stream.duplexPair (https://nodejs.org/api/stream.html#streamduplexpairoptions): two duplex streams; what is written to one
// is read from the other.

const { Duplex } = require("internal/readable-stream/lib/stream");
const process = require("process");

class Side extends Duplex {
  #other;
  /** Of a write that waits until the other side's reader wants more. */
  #callback;

  _read() {
    const callback = this.#callback;
    if (callback === undefined) return;
    this.#callback = undefined;
    callback();
  }

  _write(chunk, encoding, callback) {
    if (chunk.length === 0) {
      process.nextTick(callback);
      return;
    }
    this.#other.push(chunk);
    this.#other.#callback = callback;
  }

  _final(callback) {
    this.#other.on("end", callback);
    this.#other.push(null);
  }

  _destroy(error, callback) {
    const other = this.#other;
    if (!other.destroyed) {
      process.nextTick(() => {
        if (other.destroyed || other.readableEnded) return;
        if (error) other.destroy();
        else other.push(null);
      });
    }
    callback(error);
  }

  static join(left, right) {
    left.#other = right;
    right.#other = left;
  }
}

module.exports = function duplexPair(options = undefined) {
  const pair = [new Side(options), new Side(options)];
  Side.join(...pair);
  return pair;
};
