"use strict";
// ClientRequest (https://nodejs.org/api/http.html#class-httpclientrequest). A request goes, by what it asks for:
// - to a server of this worker, in memory (internal/http/local);
// - over a connection that its agent or `createConnection` makes, or to a Unix socket (internal/http/connection);
// - else over the runtime's own connections, under the app's egress policy (internal/http/network).
//
// Deviations of the last: `host` names the server that is connected to, whatever the header says; connection, keep-alive and
// transfer-encoding are the runtime's, which has a pool of connections; names of headers are sent in lower case; "socket"
// is an object that stands for the connection; options of TLS have no effect.

const process = require("process");
const { Buffer } = require("buffer");
const { ConnResetException, codes } = require("internal/errors");
const { validateBoolean, validateInteger, validateNumber } = require("internal/validators");
const { OutgoingMessage, attach, emitClose, flatHeaders, kErrored, kHead, kOutHeaders, kSink } = require("_http_outgoing");
const { _checkIsHttpToken: isToken } = require("_http_common");
const agents = require("_http_agent");
const servers = require("internal/http/servers");

const {
  ERR_HTTP_HEADERS_SENT, ERR_INVALID_ARG_TYPE, ERR_INVALID_HTTP_TOKEN, ERR_INVALID_PROTOCOL, ERR_INVALID_URL, ERR_UNESCAPED_CHARACTERS,
} = codes;

const NOT_IN_PATHS = /[^\u0021-\u00ff]/;
const WITHOUT_BODY = new Set(["GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "CONNECT"]);
const kTimer = Symbol("timer");
const kIdle = Symbol("idle");

/** The options that a URL stands for. */
function optionsOf(url) {
  const { hostname } = url;
  const options = {
    __proto__: null, ...url, protocol: url.protocol,
    hostname: hostname.startsWith("[") ? hostname.slice(1, -1) : hostname,
    hash: url.hash, search: url.search, pathname: url.pathname, path: `${url.pathname || ""}${url.search || ""}`, href: url.href,
  };
  if (url.port !== "") options.port = Number(url.port);
  if (url.username || url.password) options.auth = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return options;
}

function isURL(value) {
  return Boolean(value?.href && value.protocol && value.auth === undefined && value.path === undefined);
}

function validateHost(host, name) {
  if (host !== null && host !== undefined && typeof host !== "string") {
    throw new ERR_INVALID_ARG_TYPE(`options.${name}`, ["string", "undefined", "null"], host);
  }
  return host;
}

function ClientRequest(input, options, callback) {
  if (!(this instanceof ClientRequest)) return new ClientRequest(input, options, callback);
  OutgoingMessage.call(this);
  if (typeof input === "string") {
    if (!URL.canParse(input)) throw new ERR_INVALID_URL(input);
    input = optionsOf(new URL(input));
  } else if (isURL(input)) {
    input = optionsOf(input);
  } else {
    callback = options;
    options = input;
    input = null;
  }
  if (typeof options === "function") {
    callback = options;
    options = input ?? {};
  } else {
    options = Object.assign(input ?? { __proto__: null }, options);
  }
  const agent = chooseAgent(this, options);
  const expected = agent?.protocol ?? options._defaultAgent?.protocol ?? "http:";
  const protocol = options.protocol || expected;
  if (options.path && NOT_IN_PATHS.test(String(options.path))) throw new ERR_UNESCAPED_CHARACTERS("Request path");
  if (protocol !== expected) throw new ERR_INVALID_PROTOCOL(protocol, expected);
  const defaultPort = options.defaultPort || agent?.defaultPort || (protocol === "https:" ? 443 : 80);
  const port = (options.port = options.port || defaultPort || 80);
  const host = (options.host = validateHost(options.hostname, "hostname") || validateHost(options.host, "host") || "localhost");
  if (options.setHost !== undefined) validateBoolean(options.setHost, "options.setHost");
  if (options.timeout !== undefined) this.timeout = validateTimeout(options.timeout);
  if (options.maxHeaderSize !== undefined) validateInteger(options.maxHeaderSize, "maxHeaderSize", 0);
  const { method } = options;
  if (method !== null && method !== undefined && typeof method !== "string") {
    throw new ERR_INVALID_ARG_TYPE("options.method", "string", method);
  }
  if (method && !isToken(method)) throw new ERR_INVALID_HTTP_TOKEN("Method", method);
  this.method = method ? method.toUpperCase() : "GET";
  this.socketPath = options.socketPath;
  this.insecureHTTPParser = options.insecureHTTPParser;
  this.maxHeaderSize = options.maxHeaderSize;
  this.joinDuplicateHeaders = options.joinDuplicateHeaders;
  this.path = options.path ? String(options.path) : "/";
  this.host = host;
  this.protocol = protocol;
  this.port = port;
  this.aborted = false;
  this.reusedSocket = false;
  this.maxHeadersCount = null;
  this.res = null;
  this.parser = null;
  this.upgradeOrConnect = false;
  this.shouldKeepAlive = Boolean(agent?.keepAlive);
  this.useChunkedEncodingByDefault = !WITHOUT_BODY.has(this.method);
  if (typeof callback === "function") this.once("response", callback);
  setRequestHeaders(this, options, defaultPort);
  if (options.signal) followSignal(this, options.signal);
  const target = options;
  process.nextTick(() => {
    if (this.destroyed) {
      if (!this._closed) finishDestroyed(this);
      return;
    }
    try {
      connect(this, target, agent);
    } catch (error) {
      failRequest(this, error);
    }
  });
}
Object.setPrototypeOf(ClientRequest.prototype, OutgoingMessage.prototype);
Object.setPrototypeOf(ClientRequest, OutgoingMessage);

function validateTimeout(milliseconds) {
  validateNumber(milliseconds, "timeout", 0);
  return Math.min(Math.trunc(milliseconds), 2 ** 31 - 1);
}

function chooseAgent(request, options) {
  let { agent } = options;
  const fallback = options._defaultAgent || agents.globalAgent;
  if (agent === false) {
    agent = new fallback.constructor();
  } else if (agent === null || agent === undefined) {
    agent = typeof options.createConnection === "function" ? undefined : fallback;
  } else if (typeof agent.addRequest !== "function") {
    throw new ERR_INVALID_ARG_TYPE("options.agent", ["Agent-like Object", "undefined", "false"], agent);
  }
  request.agent = agent;
  return agent;
}

function setRequestHeaders(request, options, defaultPort) {
  const { headers, host, port } = options;
  const setHost = options.setHost ?? Boolean(options.setDefaultHeaders ?? true);
  if (Array.isArray(headers)) {
    if (headers.length > 0 && Array.isArray(headers[0])) for (const [name, value] of headers) request.appendHeader(name, value);
    else for (let i = 0; i + 1 < headers.length; i += 2) request.appendHeader(headers[i], headers[i + 1]);
  } else if (headers) {
    for (const name of Object.keys(headers)) request.setHeader(name, headers[name]);
  }
  if (host && setHost && !request.hasHeader("host")) {
    const name = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
    request.setHeader("Host", port && +port !== +defaultPort ? `${name}:${port}` : name);
  }
  if (options.auth && !request.hasHeader("authorization")) {
    request.setHeader("Authorization", `Basic ${Buffer.from(options.auth).toString("base64")}`);
  }
  // The head goes at once: the body is sent when the other side wants it.
  if (request.hasHeader("expect")) process.nextTick(() => request.flushHeaders());
}

function followSignal(request, signal) {
  const abort = () => request.destroy(Object.assign(new (require("internal/errors").AbortError)(undefined, { cause: signal.reason })));
  if (signal.aborted) {
    process.nextTick(abort);
    return;
  }
  signal.addEventListener("abort", abort, { once: true });
  request.once("close", () => signal.removeEventListener("abort", abort));
}

/** Finds the way for the request. */
function connect(request, options, agent) {
  const own = options.socketPath ? servers.serverAt(options.socketPath) : servers.localServer(request.host, request.port);
  if (own !== undefined && request.protocol === "http:") {
    const { LocalSink } = require("internal/http/local");
    ready(request, new LocalSink(request, own));
  } else if (agent !== undefined && agent.addRequest !== agents.Agent.prototype.addRequest) {
    agent.addRequest(request, options);
  } else if (typeof options.createConnection === "function") {
    const callback = (error, socket) => request.onSocket(socket, error);
    const socket = options.createConnection(options, callback);
    if (socket) request.onSocket(socket);
  } else if (agent !== undefined && ownsConnections(agent)) {
    agent.addRequest(request, options);
  } else if (options.socketPath) {
    request.onSocket(agents.sockets("net").createConnection({ path: options.socketPath }));
  } else {
    const { NetworkSink } = require("internal/http/network");
    ready(request, new NetworkSink(request));
  }
}

/** A package's agent that makes connections. */
function ownsConnections(agent) {
  const { Agent } = agents;
  const base = agent.protocol === "https:" ? require("https").Agent.prototype : Agent.prototype;
  return agent.createConnection !== base.createConnection || agent.createSocket !== base.createSocket;
}

/** The request has a place to go. */
function ready(request, sink) {
  if (request.destroyed) {
    sink.destroy(request, undefined);
    return;
  }
  attach(request, sink);
  if (request.timeout) request.setTimeout(request.timeout);
  request.emit("socket", request.socket);
}

ClientRequest.prototype.onSocket = function onSocket(socket, error) {
  process.nextTick(() => {
    if (error) {
      failRequest(this, error);
      return;
    }
    const { ConnectionSink } = require("internal/http/connection");
    ready(this, new ConnectionSink(this, socket));
  });
};

ClientRequest.prototype._implicitHeader = function _implicitHeader() {
  if (this[kHead] !== null) throw new ERR_HTTP_HEADERS_SENT("render");
  this._storeHeader(flatHeaders(this));
};

ClientRequest.prototype._firstLine = function _firstLine() {
  return `${this.method} ${this.path} HTTP/1.1\r\n`;
};

/** What goes beside the headers that are set, over a connection of the app's own. */
ClientRequest.prototype._addedHeaders = function _addedHeaders() {
  const added = [];
  const has = (name) => this[kOutHeaders] !== null && name in this[kOutHeaders];
  if (!has("connection")) added.push("Connection", this.shouldKeepAlive ? "keep-alive" : "close");
  if (has("content-length") || has("transfer-encoding")) return added;
  if (this._contentLength === null) {
    if (this.useChunkedEncodingByDefault) added.push("Transfer-Encoding", "chunked");
  } else if (this._contentLength > 0 || this.useChunkedEncodingByDefault) {
    added.push("Content-Length", `${this._contentLength}`);
  }
  return added;
};

ClientRequest.prototype._finish = function _finish() {};

ClientRequest.prototype._deferToConnect = function _deferToConnect(method, args) {
  const run = () => method && this.socket[method](...(args ?? []));
  if (this.socket) run();
  else this.once("socket", run);
};

ClientRequest.prototype.setNoDelay = function setNoDelay() {};
ClientRequest.prototype.setSocketKeepAlive = function setSocketKeepAlive() {};
ClientRequest.prototype.clearTimeout = function clearTimeout(callback) { this.setTimeout(0, callback); };

ClientRequest.prototype.setTimeout = function (milliseconds, callback) {
  milliseconds = validateTimeout(milliseconds);
  if (typeof callback === "function") this.once("timeout", callback);
  clearTimeout(this[kTimer]);
  this[kIdle] = milliseconds;
  touch(this);
  return this;
};

/** Something has come: the time without activity begins anew. */
function touch(request) {
  clearTimeout(request[kTimer]);
  if (!request[kIdle] || request.destroyed) return;
  request[kTimer] = setTimeout(() => {
    request.emit("timeout");
    request.socket?.emit("timeout");
  }, request[kIdle]);
}

ClientRequest.prototype.abort = function abort() {
  if (this.aborted) return;
  this.aborted = true;
  process.nextTick(() => this.emit("abort"));
  this.destroy();
};

ClientRequest.prototype.destroy = function destroy(error) {
  if (this.destroyed) return this;
  this.destroyed = true;
  this[kErrored] = error ?? null;
  clearTimeout(this[kTimer]);
  this[kSink]?.destroy(this, error);
  process.nextTick(finishDestroyed, this);
  return this;
};

/** The events of a request that was destroyed before its end. */
function finishDestroyed(request) {
  if (request._closed) return;
  const { res } = request;
  const error = request[kErrored];
  if (res !== null) {
    if (!res.complete) res.destroy(error ?? new ConnResetException("aborted"));
  } else if (error !== null || !request.complete) {
    request.emit("error", error ?? new ConnResetException("socket hang up"));
  }
  emitClose(request);
}

/** No response comes. */
function failRequest(request, error) {
  if (request.destroyed) return;
  request.destroy(error);
}

/** A response came: it is given to the request's listeners, or its body is let go of. */
function respond(request, response) {
  touch(request);
  request.res = response;
  response.req = request;
  if (request.timeout) response.on("data", () => touch(request));
  if (request.aborted || !request.emit("response", response)) response._dump();
}

/** The response has ended, or cannot go on. */
function closeRequest(request) {
  clearTimeout(request[kTimer]);
  request.destroyed = true;
  process.nextTick(emitClose, request);
}

/** An interim response: 100, 102, 103. */
function interim(request, status, message, rawHeaders) {
  if (status === 100) request.emit("continue");
  const { byName } = require("_http_incoming");
  request.emit("information", {
    statusCode: status, statusMessage: message, httpVersion: "1.1", httpVersionMajor: 1, httpVersionMinor: 1,
    headers: byName(rawHeaders), rawHeaders,
  });
}

module.exports = { ClientRequest, closeRequest, failRequest, interim, respond, touch };
