"use strict";
// What stands for the connection of a message that came by the gateway, or within the worker: its addresses, and the
// methods that packages call on `req.socket`. Nothing is read from it or written to it.

const EventEmitter = require("events");
const process = require("process");

class MessageSocket extends EventEmitter {
  readable = true;
  writable = true;
  destroyed = false;
  connecting = false;
  pending = false;
  allowHalfOpen = true;
  readableEnded = false;
  writableEnded = false;
  writableFinished = false;
  writableLength = 0;
  readableLength = 0;
  timeout = 0;
  bytesRead = 0;
  bytesWritten = 0;
  _httpMessage = null;
  server = undefined;
  parser = null;
  #onDestroy;

  /** `about`: remoteAddress, remotePort, encrypted. `onDestroy` ends the exchange. */
  constructor(about, onDestroy) {
    super();
    this.remoteAddress = about.remoteAddress;
    this.remotePort = about.remotePort ?? 0;
    this.remoteFamily = about.remoteAddress?.includes(":") ? "IPv6" : "IPv4";
    this.localAddress = about.localAddress ?? "127.0.0.1";
    this.localPort = about.localPort ?? 80;
    this.localFamily = "IPv4";
    // As in Node, sockets without TLS do not have it.
    if (about.encrypted) {
      this.encrypted = true;
      this.authorized = false;
    }
    this.#onDestroy = onDestroy;
  }

  get readyState() { return this.destroyed ? "closed" : "open"; }
  get readableFlowing() { return null; }
  get _readableState() { return { endEmitted: this.destroyed, ended: this.destroyed }; }
  get _writableState() { return { finished: this.destroyed, ended: this.destroyed }; }

  address() {
    return { address: this.localAddress, family: this.localFamily, port: this.localPort };
  }

  setTimeout(_milliseconds, callback) {
    if (typeof callback === "function") this.once("timeout", callback);
    return this;
  }

  setNoDelay() { return this; }
  setKeepAlive() { return this; }
  setEncoding() { return this; }
  ref() { return this; }
  unref() { return this; }
  pause() { return this; }
  resume() { return this; }
  cork() {}
  uncork() {}
  getPeerCertificate() { return {}; }
  getCipher() { return {}; }
  getProtocol() { return "TLSv1.3"; }

  end(_chunk, _encoding, callback) {
    if (typeof callback === "function") process.nextTick(callback);
    this.destroySoon();
    return this;
  }

  write() {
    throw new Error("node:http: this connection is Hearth's own: answer with the response, or take it by an \"upgrade\" event");
  }

  destroySoon() {
    this.destroy();
  }

  destroy(error) {
    if (this.destroyed) return this;
    this.#onDestroy?.(error);
    this.close(error);
    return this;
  }

  /** The exchange is over. */
  close(error = undefined) {
    if (this.destroyed) return;
    this.destroyed = true;
    this.readable = this.writable = false;
    process.nextTick(() => {
      if (error && this.listenerCount("error") > 0) this.emit("error", error);
      this.emit("close", Boolean(error));
    });
  }
}

module.exports = { MessageSocket };
