"use strict";
// IncomingMessage (https://nodejs.org/api/http.html#class-httpincomingmessage): a server's request or a client's response.
//
// Where its body comes from is its `kSource`: { read(message), cancel(), socket() }; without one it is filled by `push`, as
// packages that make messages of their own do. Headers are made of `rawHeaders` when they are first looked at.
//
// Deviations: names in `rawHeaders` are in lower case, and headers of the connection that the gateway has handled are not
// there; requests have no trailers.

const process = require("process");
const { Readable } = require("stream");
const { ConnResetException } = require("internal/errors");

const kSource = Symbol("source");
const kHeaders = Symbol("headers");
const kDistinct = Symbol("headersDistinct");
const kTrailers = Symbol("trailers");
const kSocket = Symbol("socket");

/** Of these the first counts; the others are joined. */
const SINGLE = new Set([
  "age", "authorization", "content-length", "content-type", "etag", "expires", "from", "host", "if-modified-since",
  "if-unmodified-since", "last-modified", "location", "max-forwards", "proxy-authorization", "referer", "retry-after", "server",
  "user-agent",
]);

function IncomingMessage(socket) {
  if (!(this instanceof IncomingMessage)) return new IncomingMessage(socket);
  Readable.call(this, socket ? { highWaterMark: socket.readableHighWaterMark } : undefined);
  this[kSocket] = socket;
  this[kSource] = null;
  this[kHeaders] = null;
  this.httpVersionMajor = null;
  this.httpVersionMinor = null;
  this.httpVersion = null;
  this.complete = false;
  this.rawHeaders = [];
  this.rawTrailers = [];
  this.joinDuplicateHeaders = false;
  this.aborted = false;
  this.upgrade = null;
  this.url = "";
  this.method = null;
  this.statusCode = null;
  this.statusMessage = null;
  this._consumed = false;
  this._dumped = false;
}
Object.setPrototypeOf(IncomingMessage.prototype, Readable.prototype);
Object.setPrototypeOf(IncomingMessage, Readable);

/** A flat list by names: repeated values are joined, as Node joins them. */
function byName(list, joinAll) {
  const headers = {};
  for (let i = 0; i + 1 < list.length; i += 2) addHeaderLine(list[i].toLowerCase(), list[i + 1], headers, joinAll);
  return headers;
}

function addHeaderLine(name, value, headers, joinAll) {
  const before = headers[name];
  if (name === "set-cookie") {
    if (before === undefined) headers[name] = [value];
    else before.push(value);
  } else if (before === undefined || typeof before !== "string") {
    headers[name] = value;
  } else if (name === "cookie") {
    headers[name] = `${before}; ${value}`;
  } else if (joinAll || !SINGLE.has(name)) {
    headers[name] = `${before}, ${value}`;
  }
}

function distinct(list) {
  const headers = { __proto__: null };
  for (let i = 0; i + 1 < list.length; i += 2) (headers[list[i].toLowerCase()] ??= []).push(list[i + 1]);
  return headers;
}

function define(name, get, set) {
  Object.defineProperty(IncomingMessage.prototype, name, { __proto__: null, get, set, configurable: true, enumerable: true });
}

define("headers", function () {
  return (this[kHeaders] ??= byName(this.rawHeaders, this.joinDuplicateHeaders));
}, function (value) {
  this[kHeaders] = value;
});
define("headersDistinct", function () {
  return (this[kDistinct] ??= distinct(this.rawHeaders));
}, function (value) {
  this[kDistinct] = value;
});
define("trailers", function () {
  return (this[kTrailers] ??= byName(this.rawTrailers, this.joinDuplicateHeaders));
}, function (value) {
  this[kTrailers] = value;
});
define("trailersDistinct", function () {
  return distinct(this.rawTrailers);
}, function () {});
define("socket", function () {
  if (this[kSocket] === undefined && this[kSource] !== null) this[kSocket] = this[kSource].socket();
  return this[kSocket];
}, function (value) {
  this[kSocket] = value;
});
define("connection", function () {
  return this.socket;
}, function (value) {
  this.socket = value;
});

IncomingMessage.prototype.setTimeout = function setTimeout(milliseconds, callback) {
  if (callback) this.on("timeout", callback);
  this.socket?.setTimeout(milliseconds);
  return this;
};

IncomingMessage.prototype._read = function _read() {
  this._consumed = true;
  this[kSource]?.read(this);
};

IncomingMessage.prototype._destroy = function _destroy(error, callback) {
  if (!this.readableEnded || !this.complete) {
    this.aborted = true;
    this.emit("aborted");
  }
  this[kSource]?.cancel();
  // A message that is cut off has an error, where there is a listener for it.
  if (!error && this.req && !this.complete) error = new ConnResetException("aborted");
  if (error && !this.listenerCount("error")) error = null;
  process.nextTick(callback, error);
};

IncomingMessage.prototype._addHeaderLine = function _addHeaderLine(field, value, headers) {
  addHeaderLine(field.toLowerCase(), value, headers, this.joinDuplicateHeaders);
};

IncomingMessage.prototype._addHeaderLines = function _addHeaderLines(list, count) {
  if (this.complete) this.rawTrailers = list.slice(0, count);
  else this.rawHeaders = list.slice(0, count);
};

/** The rest of the body is not wanted. */
IncomingMessage.prototype._dump = function _dump() {
  if (this._dumped) return;
  this._dumped = true;
  if (this[kSource] === null) {
    this.resume();
    return;
  }
  this[kSource].cancel();
  // Then there is nothing more to read; most have no listener that would want to know.
  if (this.listenerCount("close") > 0 || this.listenerCount("end") > 0) this.resume();
  else this.complete = true;
};

/** The body has ended. */
function endMessage(message) {
  message.complete = true;
  message.push(null);
}

module.exports = { IncomingMessage, byName, endMessage, kSocket, kSource };
