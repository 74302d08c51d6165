"use strict";
// Server and ServerResponse (https://nodejs.org/api/http.html#class-httpserver). A server that listens is known to the
// worker by its port (internal/http/servers): the first has the requests that come to the app, and each those of clients
// in the worker.
//
// Deviations: time limits and numbers of connections are the app's limits in Hearth, and what is set here has no effect;
// interim responses (100, 102, 103) are the gateway's; there are no connections to see, so "connection" and "clientError" are
// not emitted for requests that come to the app.

const EventEmitter = require("events");
const process = require("process");
const { codes } = require("internal/errors");
const { validateFunction, validateInteger, validateObject } = require("internal/validators");
const {
  OutgoingMessage, attach, emitClose, flatHeaders, kHead, kOutHeaders, kSink, validateHeaderName, validateHeaderValue,
} = require("_http_outgoing");
const { IncomingMessage } = require("_http_incoming");
const { continueExpression } = require("_http_common");
const STATUS_CODES = require("internal/http/status_codes");
const servers = require("internal/http/servers");

const {
  ERR_HTTP_HEADERS_SENT, ERR_HTTP_INVALID_STATUS_CODE, ERR_HTTP_SOCKET_ASSIGNED, ERR_INVALID_ARG_VALUE, ERR_INVALID_CHAR,
  ERR_SERVER_NOT_RUNNING,
} = codes;

// ---- ServerResponse

function ServerResponse(request, options) {
  OutgoingMessage.call(this, options);
  if (request.method === "HEAD") {
    this._hasBody = false;
    this._isHead = true;
  }
  this.req = request;
  this.sendDate = true;
  this._sent100 = false;
  this._expect_continue = false;
  if (request.httpVersionMajor < 1 || request.httpVersionMinor < 1) {
    this.useChunkedEncodingByDefault = /chunked/.test(request.headers?.te);
    this.shouldKeepAlive = false;
  }
}
Object.setPrototypeOf(ServerResponse.prototype, OutgoingMessage.prototype);
Object.setPrototypeOf(ServerResponse, OutgoingMessage);

ServerResponse.prototype.statusCode = 200;
ServerResponse.prototype.statusMessage = undefined;
ServerResponse.prototype._isHead = false;

/** A list of pairs, a flat list or an object as a flat list; throws where a header is invalid. */
function listOf(headers) {
  const list = [];
  const add = (name, value) => {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    for (const one of Array.isArray(value) ? value : [value]) list.push(name, `${one}`);
  };
  if (!Array.isArray(headers)) {
    for (const name of Object.keys(headers)) if (name) add(name, headers[name]);
  } else if (headers.length > 0 && Array.isArray(headers[0])) {
    for (const [name, value] of headers) add(name, value);
  } else {
    if (headers.length % 2 !== 0) throw new ERR_INVALID_ARG_VALUE("headers", headers);
    for (let i = 0; i < headers.length; i += 2) add(headers[i], headers[i + 1]);
  }
  return list;
}

ServerResponse.prototype.writeHead = function writeHead(statusCode, reason, headers) {
  if (this[kHead] !== null) throw new ERR_HTTP_HEADERS_SENT("write");
  const given = statusCode;
  statusCode |= 0;
  if (statusCode < 100 || statusCode > 999) throw new ERR_HTTP_INVALID_STATUS_CODE(given);
  if (typeof reason === "string") {
    this.statusMessage = reason;
  } else {
    this.statusMessage ||= STATUS_CODES[statusCode] || "unknown";
    headers ??= reason;
  }
  this.statusCode = statusCode;
  let list;
  if (headers === undefined || headers === null) {
    list = flatHeaders(this);
  } else if (this[kOutHeaders] === null) {
    list = listOf(headers);
  } else {
    // What is given here replaces what was set.
    const added = listOf(headers);
    for (let i = 0; i < added.length; i += 2) this.removeHeader(added[i]);
    for (let i = 0; i < added.length; i += 2) this.appendHeader(added[i], added[i + 1]);
    list = flatHeaders(this);
  }
  if (/[^\t\x20-\x7e\x80-\xff]/.test(this.statusMessage)) throw new ERR_INVALID_CHAR("statusMessage");
  if (statusCode === 204 || statusCode === 304 || (statusCode >= 100 && statusCode <= 199)) this._hasBody = false;
  this._storeHeader(list);
  return this;
};
ServerResponse.prototype.writeHeader = ServerResponse.prototype.writeHead;

ServerResponse.prototype._implicitHeader = function _implicitHeader() {
  this.writeHead(this.statusCode);
};

/** What Node adds to the headers that are set, where the gateway does not. */
ServerResponse.prototype._addedHeaders = function _addedHeaders() {
  const added = [];
  const names = new Set();
  for (let i = 0; i < this[kHead].length; i += 2) names.add(this[kHead][i].toLowerCase());
  if (this.sendDate && !names.has("date")) added.push("Date", new Date().toUTCString());
  if (!names.has("connection")) added.push("Connection", this.shouldKeepAlive ? "keep-alive" : "close");
  if (!names.has("content-length") && !names.has("transfer-encoding") && (this._hasBody || this._isHead)) {
    if (this._contentLength !== null) added.push("Content-Length", `${this._contentLength}`);
    else if (this._hasBody && this.useChunkedEncodingByDefault) added.push("Transfer-Encoding", "chunked");
  }
  return added;
};

ServerResponse.prototype._firstLine = function _firstLine() {
  return `HTTP/1.1 ${this.statusCode} ${this.statusMessage}\r\n`;
};

ServerResponse.prototype.writeContinue = function writeContinue(callback) {
  this._sent100 = true;
  this[kSink]?.interim?.(100, []);
  if (typeof callback === "function") process.nextTick(callback);
};

ServerResponse.prototype.writeProcessing = function writeProcessing(callback) {
  this[kSink]?.interim?.(102, []);
  if (typeof callback === "function") process.nextTick(callback);
};

ServerResponse.prototype.writeEarlyHints = function writeEarlyHints(hints, callback) {
  validateObject(hints, "hints");
  const links = hints.link === undefined ? [] : [].concat(hints.link);
  if (links.length > 0) this[kSink]?.interim?.(103, listOf({ ...hints, link: links.join(", ") }));
  if (typeof callback === "function") process.nextTick(callback);
};

/** Writes the response to a socket: for messages that packages make by themselves. */
ServerResponse.prototype.assignSocket = function assignSocket(socket) {
  if (socket._httpMessage) throw new ERR_HTTP_SOCKET_ASSIGNED();
  socket._httpMessage = this;
  const { SocketSink } = require("internal/http/socket_sink");
  attach(this, new SocketSink(socket));
  this.emit("socket", socket);
};

ServerResponse.prototype.detachSocket = function detachSocket(socket) {
  socket._httpMessage = null;
  this[kSink] = null;
};

ServerResponse.prototype._finish = function _finish() {
  this[kSink]?.answered?.(this);
};

// ---- Server

function Server(options, listener) {
  if (!(this instanceof Server)) return new Server(options, listener);
  if (typeof options === "function") {
    listener = options;
    options = {};
  } else if (options !== null && options !== undefined) {
    validateObject(options, "options");
  }
  options ??= {};
  EventEmitter.call(this, options);
  storeHTTPOptions.call(this, options);
  this._address = null;
  this.connections = 0;
  this.httpAllowHalfOpen = false;
  this.timeout = 0;
  this.maxHeadersCount = null;
  this.maxRequestsPerSocket = 0;
  this.allowHalfOpen = true;
  this.on("connection", _connectionListener);
  if (listener !== undefined && listener !== null) {
    validateFunction(listener, "requestListener");
    this.on("request", listener);
  }
}
Object.setPrototypeOf(Server.prototype, EventEmitter.prototype);
Object.setPrototypeOf(Server, EventEmitter);

/** The options that a server keeps, as properties. */
function storeHTTPOptions(options) {
  this.IncomingMessage = options.IncomingMessage || IncomingMessage;
  this.ServerResponse = options.ServerResponse || ServerResponse;
  const number = (name, fallback) => {
    const value = options[name];
    if (value === undefined) return fallback;
    validateInteger(value, name, 0);
    return value;
  };
  this.maxHeaderSize = number("maxHeaderSize", undefined);
  this.requestTimeout = number("requestTimeout", 300_000);
  this.headersTimeout = number("headersTimeout", 60_000);
  this.keepAliveTimeout = number("keepAliveTimeout", 5_000);
  this.keepAliveTimeoutBuffer = number("keepAliveTimeoutBuffer", 1_000);
  this.connectionsCheckingInterval = number("connectionsCheckingInterval", 30_000);
  this.insecureHTTPParser = options.insecureHTTPParser;
  this.joinDuplicateHeaders = options.joinDuplicateHeaders ?? false;
  this.rejectNonStandardBodyWrites = options.rejectNonStandardBodyWrites ?? false;
  this.highWaterMark = options.highWaterMark;
}

Object.defineProperty(Server.prototype, "listening", {
  __proto__: null, get() { return this._address !== null; }, configurable: true, enumerable: true,
});

Server.prototype.listen = function listen(...args) {
  const callback = args.findLast((argument) => typeof argument === "function");
  if (callback !== undefined) this.once("listening", callback);
  this._address = servers.listen(this, args);
  process.nextTick(() => {
    if (this._address !== null) this.emit("listening");
  });
  return this;
};

Server.prototype.address = function address() {
  return this._address === null || typeof this._address === "string" ? this._address : { ...this._address };
};

Server.prototype.close = function close(callback) {
  const error = this._address === null ? new ERR_SERVER_NOT_RUNNING() : undefined;
  if (typeof callback === "function") this.once("close", () => callback(error));
  servers.close(this);
  this._address = null;
  process.nextTick(() => this.emit("close"));
  return this;
};

Server.prototype[Symbol.asyncDispose] = async function () {
  if (this._address !== null) await new Promise((resolve) => this.close(resolve));
};

Server.prototype.closeAllConnections = function closeAllConnections() {};
Server.prototype.closeIdleConnections = function closeIdleConnections() {};

Server.prototype.getConnections = function getConnections(callback) {
  process.nextTick(callback, null, this.connections);
  return this;
};

Server.prototype.setTimeout = function setTimeout(milliseconds, callback) {
  this.timeout = milliseconds;
  if (callback) this.on("timeout", callback);
  return this;
};

Server.prototype.ref = function ref() { return this; };
Server.prototype.unref = function unref() { return this; };

/** Gives a request to the server's listeners. */
function serve(server, request, response) {
  const expected = request.headers.expect;
  if (expected === undefined) {
    server.emit("request", request, response);
  } else if (continueExpression.test(expected)) {
    response._expect_continue = true;
    if (server.listenerCount("checkContinue") > 0) {
      server.emit("checkContinue", request, response);
    } else {
      response.writeContinue();
      server.emit("request", request, response);
    }
  } else if (server.listenerCount("checkExpectation") > 0) {
    server.emit("checkExpectation", request, response);
  } else {
    response.writeHead(417);
    response.end();
  }
}

/** Reads requests from a connection that the app has made by itself. */
function _connectionListener(socket) {
  const { ServerConnection } = require("internal/http/server_connection");
  new ServerConnection(this, socket, serve);
}

module.exports = { STATUS_CODES, Server, ServerResponse, _connectionListener, emitClose, serve, storeHTTPOptions };
