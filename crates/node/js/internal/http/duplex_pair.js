"use strict";
// Two ends of a connection in memory, as sockets: what is written to one is read from the other.

const { Duplex } = require("stream");
const process = require("process");

class PairSocket extends Duplex {
  peer = undefined;
  #waiting = undefined;
  encrypted = undefined;
  connecting = false;
  remoteAddress = "127.0.0.1";
  remoteFamily = "IPv4";
  remotePort = 0;
  localAddress = "127.0.0.1";
  localPort = 0;
  timeout = 0;
  bytesRead = 0;
  bytesWritten = 0;

  _read() {
    const callback = this.#waiting;
    this.#waiting = undefined;
    if (callback !== undefined) callback();
  }

  _write(chunk, _encoding, callback) {
    const { peer } = this;
    if (peer.destroyed) {
      callback(Object.assign(new Error("write EPIPE"), { code: "EPIPE", errno: -32, syscall: "write" }));
      return;
    }
    this.bytesWritten += chunk.length;
    peer.bytesRead += chunk.length;
    if (peer.push(chunk)) process.nextTick(callback);
    else peer.#waiting = callback;
  }

  _final(callback) {
    if (!this.peer.destroyed) this.peer.push(null);
    callback();
  }

  _destroy(error, callback) {
    const { peer } = this;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting !== undefined) waiting();
    process.nextTick(() => {
      if (!peer.destroyed) {
        if (peer.readableEnded || peer.writableFinished) peer.destroy();
        else peer.push(null);
        if (!peer.destroyed) peer.once("end", () => peer.destroy());
        peer.resume();
      }
    });
    callback(error);
  }

  destroySoon() {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once("finish", this.destroy);
  }

  setTimeout(_milliseconds, callback) {
    if (typeof callback === "function") this.once("timeout", callback);
    return this;
  }

  address() {
    return { address: this.localAddress, family: "IPv4", port: this.localPort };
  }

  get readyState() { return this.destroyed ? "closed" : "open"; }
  setNoDelay() { return this; }
  setKeepAlive() { return this; }
  ref() { return this; }
  unref() { return this; }
}

function duplexPair() {
  const [one, other] = [new PairSocket(), new PairSocket()];
  one.peer = other;
  other.peer = one;
  return [one, other];
}

module.exports = { duplexPair };
