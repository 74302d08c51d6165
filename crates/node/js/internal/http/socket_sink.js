"use strict";
// Writes a message to a stream as HTTP/1.1: the sink of messages over connections that an app has made by itself.

const process = require("process");
const { Buffer } = require("buffer");
const { drained, emitClose, kHead } = require("_http_outgoing");
const STATUS_CODES = require("internal/http/status_codes");

class SocketSink {
  #socket;
  #message = undefined;
  #onFinish;
  #chunked = false;
  #onDrain = () => drained(this.#message);

  constructor(socket, onFinish = undefined) {
    this.#socket = socket;
    this.#onFinish = onFinish;
  }

  socket() {
    return this.#socket;
  }

  whole(message, body, encoding) {
    if (message._contentLength === null) message._contentLength = body === undefined ? 0 : Buffer.byteLength(body, encoding);
    this.start(message);
    if (body !== undefined && body.length > 0 && message._hasBody) this.write(message, body, encoding);
    this.end(message);
  }

  start(message) {
    this.#message = message;
    // `_header` has what is added, too.
    const text = message._header;
    this.#chunked = message._hasBody && /\r\ntransfer-encoding: *(?:[^\r]*, *)?chunked\r\n/i.test(text);
    this.#socket.on?.("drain", this.#onDrain);
    this.#socket.write(text, "latin1");
  }

  write(_message, chunk, encoding) {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk, encoding || "utf8") : chunk;
    if (!this.#chunked) return this.#socket.write(bytes) !== false;
    this.#socket.cork?.();
    this.#socket.write(`${bytes.byteLength.toString(16)}\r\n`, "latin1");
    this.#socket.write(bytes);
    const room = this.#socket.write("\r\n", "latin1") !== false;
    this.#socket.uncork?.();
    return room;
  }

  end(message) {
    if (this.#chunked) this.#socket.write(`0\r\n${message._trailer}\r\n`, "latin1");
  }

  interim(status, headers) {
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
    for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`;
    this.#socket.write(`${text}\r\n`, "latin1");
  }

  answered() {
    this.#socket.removeListener?.("drain", this.#onDrain);
    this.#onFinish?.();
  }

  destroy(message, error) {
    this.#socket.removeListener?.("drain", this.#onDrain);
    this.#socket.destroy(error);
    process.nextTick(emitClose, message);
  }
}

module.exports = { SocketSink };
