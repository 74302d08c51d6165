"use strict";
// OutgoingMessage (https://nodejs.org/api/http.html#class-httpoutgoingmessage): a server's response or a client's request.
//
// Where it goes is its sink: { whole(message, body, encoding), start(message), write(chunk, encoding), end(), destroy(error),
// socket() }. A message that is given whole is handed over with its head at once. `write` returns false when the other side is
// full, which calls `drained(message)` later. Until there is a sink, what is written waits.
//
// Deviation: connection, keep-alive, transfer-encoding and date are the gateway's, and may differ from what is set.

const process = require("process");
const { Stream, getDefaultHighWaterMark } = require("stream");
const { Buffer } = require("buffer");
const { codes } = require("internal/errors");
const { chunkExpression } = require("_http_common");
const {
  addHeaderMethods, flatHeaders, kHead, kOutHeaders, validateHeaderName, validateHeaderValue,
} = require("internal/http/outgoing_headers");
const STATUS_CODES = require("internal/http/status_codes");

const {
  ERR_HTTP_BODY_NOT_ALLOWED, ERR_HTTP_CONTENT_LENGTH_MISMATCH, ERR_INVALID_ARG_TYPE, ERR_METHOD_NOT_IMPLEMENTED, ERR_STREAM_ALREADY_FINISHED, ERR_STREAM_CANNOT_PIPE, ERR_STREAM_DESTROYED, ERR_STREAM_NULL_VALUES, ERR_STREAM_WRITE_AFTER_END,
} = codes;

const kSink = Symbol("sink");
/** Given to the sink: the head, or all. */
const kStarted = Symbol("started");
const kWaiting = Symbol("waiting");
const kErrored = Symbol("errored");
const kBytes = Symbol("bytesWritten");
const kNeedDrain = Symbol("needDrain");
const kClosed = Symbol("closed");

const nothing = () => {};

function OutgoingMessage(options) {
  Stream.call(this);
  this[kSink] = null;
  this[kHead] = null;
  this[kOutHeaders] = null;
  this[kStarted] = false;
  this[kWaiting] = null;
  this[kErrored] = null;
  this[kBytes] = 0;
  this[kNeedDrain] = false;
  this[kClosed] = false;
  this.writable = true;
  this.destroyed = false;
  this._last = false;
  this.chunkedEncoding = false;
  this.shouldKeepAlive = true;
  this.maxRequestsOnConnectionReached = false;
  this._defaultKeepAlive = true;
  this.useChunkedEncodingByDefault = true;
  this.sendDate = false;
  this._removedConnection = false;
  this._removedContLen = false;
  this._removedTE = false;
  this.strictContentLength = false;
  this._contentLength = null;
  this._hasBody = true;
  this._trailer = "";
  this.finished = false;
  this._keepAliveTimeout = 0;
  this.highWaterMark = options?.highWaterMark ?? 65536;
}
Object.setPrototypeOf(OutgoingMessage.prototype, Stream.prototype);
Object.setPrototypeOf(OutgoingMessage, Stream);

function getter(name, get, set = undefined) {
  Object.defineProperty(OutgoingMessage.prototype, name, { __proto__: null, get, set, configurable: true, enumerable: true });
}

getter("errored", function () { return this[kErrored]; });
getter("closed", function () { return this[kClosed]; });
getter("_closed", function () { return this[kClosed]; }, function (value) { this[kClosed] = value; });
getter("headersSent", function () { return this[kHead] !== null; });
getter("writableEnded", function () { return this.finished; });
getter("writableFinished", function () {
  return this.finished && this[kWaiting] === null && this[kStarted] && !this[kNeedDrain];
});
getter("writableObjectMode", () => false);
getter("writableLength", function () {
  let length = 0;
  for (const [kind, chunk] of this[kWaiting] ?? []) if (kind === "write") length += chunk.length;
  return length;
});
getter("writableHighWaterMark", function () { return this.highWaterMark ?? getDefaultHighWaterMark(false); });
getter("writableCorked", () => 0);
getter("writableNeedDrain", function () { return !this.destroyed && !this.finished && this[kNeedDrain]; });
getter("outputSize", function () { return this.writableLength; });
getter("outputData", function () { return []; });
getter("socket", function () { return this[kSink]?.socket() ?? null; }, function (socket) {
  if (socket === null || socket === undefined) this[kSink] = null;
  else this.assignSocket?.(socket);
});
getter("connection", function () { return this.socket; }, function (socket) { this.socket = socket; });
getter("_headers", function () { return this.getHeaders(); });
getter("_headerNames", function () {
  return Object.fromEntries(Object.entries(this[kOutHeaders] ?? {}).map(([name, entry]) => [name, entry[0]]));
});
/** The head as text, for packages that look at it; null before it is known. */
getter("_header", function () {
  const list = this[kHead];
  if (list === null) return null;
  let text = this._firstLine();
  const all = list.concat(this._addedHeaders());
  for (let i = 0; i < all.length; i += 2) text += `${all[i]}: ${all[i + 1]}\r\n`;
  return `${text}\r\n`;
}, function (value) {
  if (value === null || value === undefined) this[kHead] = null;
});

addHeaderMethods(OutgoingMessage);

/** The head is final: a flat list, in which repeated names are as they are to be sent. */
OutgoingMessage.prototype._storeHeader = function _storeHeader(list) {
  this[kHead] = list;
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i].toLowerCase();
    if (name === "content-length" && this._contentLength === null) this._contentLength = +list[i + 1];
    else if (name === "transfer-encoding" && chunkExpression.test(list[i + 1])) this.chunkedEncoding = true;
  }
  if (this._contentLength === null && this._hasBody && !this._removedTE && this.useChunkedEncodingByDefault) this.chunkedEncoding = true;
};

OutgoingMessage.prototype._implicitHeader = function _implicitHeader() {
  throw new ERR_METHOD_NOT_IMPLEMENTED("_implicitHeader()");
};

OutgoingMessage.prototype._renderHeaders = function _renderHeaders() {
  checkUnsent(this, "render");
  const headers = {};
  for (const [name, value] of Object.values(this[kOutHeaders] ?? {})) headers[name] = value;
  return headers;
};

OutgoingMessage.prototype._firstLine = () => "";
OutgoingMessage.prototype._addedHeaders = () => [];

OutgoingMessage.prototype.flushHeaders = function flushHeaders() {
  if (this[kHead] === null) this._implicitHeader();
  give(this, "start");
};

// ---- Body

/** To the sink, or into the queue until there is one. */
function give(message, kind, chunk = undefined, encoding = undefined, callback = nothing) {
  const sink = message[kSink];
  if (sink === null) {
    (message[kWaiting] ??= []).push([kind, chunk, encoding, callback]);
    message[kNeedDrain] = message.writableLength >= message.highWaterMark;
    return !message[kNeedDrain];
  }
  let room = true;
  if (kind === "whole") {
    message[kStarted] = true;
    sink.whole(message, chunk, encoding);
  } else {
    if (!message[kStarted]) {
      message[kStarted] = true;
      sink.start(message);
    }
    if (kind === "write") room = sink.write(message, chunk, encoding);
    else if (kind === "end") sink.end(message);
  }
  if (!room) message[kNeedDrain] = true;
  if (callback !== nothing) process.nextTick(callback, null);
  return room;
}

/** The message has a place to go. */
function attach(message, sink) {
  message[kSink] = sink;
  const waiting = message[kWaiting];
  if (waiting === null) return;
  message[kWaiting] = null;
  const full = message[kNeedDrain];
  message[kNeedDrain] = false;
  let room = true;
  for (const [kind, chunk, encoding, callback] of waiting) room = give(message, kind, chunk, encoding, callback);
  if (full && room && !message.finished) process.nextTick(drained, message, true);
}

/** The sink takes more. */
function drained(message, force = false) {
  if (message.destroyed || (!message[kNeedDrain] && !force)) return;
  message[kNeedDrain] = false;
  if (!message.finished) message.emit("drain");
}

function fail(message, error, callback) {
  process.nextTick(() => {
    callback(error);
    if (!message.destroyed) message.emit("error", error);
  });
  return false;
}

/** A chunk that can be sent; throws where it is none. */
function checkChunk(chunk) {
  if (chunk === null) throw new ERR_STREAM_NULL_VALUES();
  if (typeof chunk !== "string" && !(chunk instanceof Uint8Array)) {
    throw new ERR_INVALID_ARG_TYPE("chunk", ["string", "Buffer", "Uint8Array"], chunk);
  }
}

function lengthOf(chunk, encoding) {
  return typeof chunk === "string" ? Buffer.byteLength(chunk, encoding) : chunk.byteLength;
}

/** Whether the length that was promised still holds; only where the message wants it checked. */
function checkLength(message, chunk, encoding, last) {
  if (!message.strictContentLength || message._contentLength === null || !message._hasBody) return;
  message[kBytes] += chunk === undefined ? 0 : lengthOf(chunk, encoding);
  const wrong = last ? message[kBytes] !== message._contentLength : message[kBytes] > message._contentLength;
  if (wrong) throw new ERR_HTTP_CONTENT_LENGTH_MISMATCH(message[kBytes], message._contentLength);
}

OutgoingMessage.prototype.write = function write(chunk, encoding, callback) {
  if (typeof encoding === "function") {
    callback = encoding;
    encoding = undefined;
  }
  if (typeof callback !== "function") callback = nothing;
  checkChunk(chunk);
  if (this.finished) return fail(this, new ERR_STREAM_WRITE_AFTER_END(), callback);
  if (this.destroyed) {
    process.nextTick(callback, new ERR_STREAM_DESTROYED("write"));
    return false;
  }
  if (this[kHead] === null) this._implicitHeader();
  checkLength(this, chunk, encoding, false);
  if (!this._hasBody) {
    if (this.rejectNonStandardBodyWrites) throw new ERR_HTTP_BODY_NOT_ALLOWED();
    process.nextTick(callback);
    return true;
  }
  if (chunk.length === 0) {
    give(this, "start");
    process.nextTick(callback);
    return true;
  }
  return give(this, "write", chunk, encoding, callback);
};

OutgoingMessage.prototype.end = function end(chunk, encoding, callback) {
  if (typeof chunk === "function") {
    callback = chunk;
    chunk = undefined;
  } else if (typeof encoding === "function") {
    callback = encoding;
    encoding = undefined;
  }
  if (chunk === null) chunk = undefined;
  if (chunk !== undefined) checkChunk(chunk);
  if (this.finished) {
    if (typeof callback === "function") {
      if (this.writableFinished) process.nextTick(callback, new ERR_STREAM_ALREADY_FINISHED("end"));
      else this.once("finish", callback);
    }
    if (chunk !== undefined) fail(this, new ERR_STREAM_WRITE_AFTER_END(), nothing);
    return this;
  }
  if (typeof callback === "function") this.once("finish", callback);
  const first = this[kHead] === null;
  if (first) {
    if (this._contentLength === null && !this.hasHeader("content-length")) {
      this._contentLength = chunk === undefined ? 0 : lengthOf(chunk, encoding);
    }
    this._implicitHeader();
  }
  checkLength(this, chunk, encoding, true);
  if (chunk !== undefined && !this._hasBody && !this._isHead) {
    if (this.rejectNonStandardBodyWrites) throw new ERR_HTTP_BODY_NOT_ALLOWED();
    chunk = undefined;
  }
  this.finished = true;
  if (this[kStarted] || (this[kWaiting] !== null && this[kWaiting].length > 0)) {
    if (chunk !== undefined && chunk.length > 0 && this._hasBody) give(this, "write", chunk, encoding);
    give(this, "end", undefined, undefined, () => finish(this));
  } else {
    give(this, "whole", chunk, encoding, () => finish(this));
  }
  return this;
};

function finish(message) {
  message.emit("prefinish");
  if (message.destroyed && message[kErrored] !== null) return;
  message._finish();
  message.emit("finish");
  message[kSink]?.finished?.(message);
}

OutgoingMessage.prototype._finish = nothing;

OutgoingMessage.prototype._send = function _send(data, encoding, callback) {
  return this.write(data, encoding, callback);
};

OutgoingMessage.prototype.cork = nothing;
OutgoingMessage.prototype.uncork = nothing;

OutgoingMessage.prototype.setTimeout = function setTimeout(milliseconds, callback) {
  if (callback) this.on("timeout", callback);
  this.socket?.setTimeout(milliseconds);
  return this;
};

OutgoingMessage.prototype.destroy = function destroy(error) {
  if (this.destroyed) return this;
  this.destroyed = true;
  this[kErrored] = error ?? null;
  const sink = this[kSink];
  if (sink !== null) sink.destroy(this, error);
  return this;
};

OutgoingMessage.prototype.pipe = function pipe() {
  this.emit("error", new ERR_STREAM_CANNOT_PIPE());
};

/** "close" once. */
function emitClose(message) {
  if (message[kClosed]) return;
  message[kClosed] = true;
  message.emit("close");
}

OutgoingMessage.prototype[Symbol.for("nodejs.rejection")] = function (error) {
  this.destroy(error);
};

module.exports = {
  OutgoingMessage, STATUS_CODES, attach, drained, emitClose, flatHeaders, kErrored, kHead, kOutHeaders, kSink, kStarted,
  validateHeaderName, validateHeaderValue,
};
