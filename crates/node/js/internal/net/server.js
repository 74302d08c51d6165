"use strict";
// net.Server: accepts connections of the same worker (internal/net/loopback).

const EventEmitter = require("events");
const process = require("process");
const {
  ExceptionWithHostPort, codes: { ERR_INVALID_ARG_TYPE, ERR_INVALID_ARG_VALUE, ERR_SERVER_ALREADY_LISTEN, ERR_SERVER_NOT_RUNNING },
} = require("internal/errors");
const { numbers } = require("internal/system_errors");
const { validateAbortSignal, validateNumber, validatePort } = require("internal/validators");
const { isIPv6 } = require("internal/net/address");
const loopback = require("internal/net/loopback");
const { Socket } = require("internal/net/socket");

function Server(options, listener) {
  if (!(this instanceof Server)) return new Server(options, listener);
  EventEmitter.call(this);
  if (typeof options === "function") {
    listener = options;
    options = {};
  } else if (options === null || options === undefined) {
    options = {};
  } else if (typeof options !== "object") {
    throw new ERR_INVALID_ARG_TYPE("options", "Object", options);
  }
  if (options.highWaterMark !== undefined) validateNumber(options.highWaterMark, "options.highWaterMark");
  this._options = options;
  this.allowHalfOpen = options.allowHalfOpen === true;
  this.pauseOnConnect = options.pauseOnConnect === true;
  this.highWaterMark = options.highWaterMark;
  this._connections = 0;
  this._key = undefined;
  this._address = null;
  if (typeof listener === "function") this.on("connection", listener);
}
Object.setPrototypeOf(Server.prototype, EventEmitter.prototype);
Object.setPrototypeOf(Server, EventEmitter);

Object.defineProperty(Server.prototype, "listening", {
  __proto__: null, configurable: true, enumerable: true, get() { return this._key !== undefined; },
});

/** (port, host, backlog), (path, backlog) and (options). */
Server.prototype.listen = function listen(...args) {
  const last = args[args.length - 1];
  const callback = typeof last === "function" ? last : undefined;
  let options = args[0];
  if (options === undefined || options === null || typeof options === "function") options = { port: 0 };
  else if (typeof options !== "object") {
    options = typeof options === "string" && !(Number(options) >= 0) ? { path: options } : { port: options, host: args[1] };
    if (typeof options.host !== "string") options.host = undefined;
  }
  if (this._key !== undefined) throw new ERR_SERVER_ALREADY_LISTEN();
  if (callback !== undefined) this.once("listening", callback);
  if (options.signal !== undefined) {
    validateAbortSignal(options.signal, "options.signal");
    if (options.signal.aborted) process.nextTick(() => this.close());
    else options.signal.addEventListener("abort", () => this.close(), { once: true });
  }
  if (typeof options.port === "number" || typeof options.port === "string") return listenPort(this, options);
  if (typeof options.path === "string") return listenOn(this, options.path, options.path, undefined);
  if (options.port === undefined && "port" in options) return listenPort(this, { ...options, port: 0 });
  if (options.fd !== undefined || options._handle !== undefined) {
    throw new Error("node:net: a server cannot listen on a file descriptor in Hearth: listen on a port");
  }
  throw new ERR_INVALID_ARG_VALUE("options", options, 'must have the property "port" or "path"');
};

function listenPort(server, { port, host }) {
  validatePort(port, "options.port");
  port = port === 0 || port === "0" ? loopback.freePort() : Number(port);
  const address = !host ? "::" : host === "localhost" ? "127.0.0.1" : `${host}`;
  return listenOn(server, port, address, port);
}

function listenOn(server, key, address, port) {
  if (!loopback.listen(key, (handle) => accept(server, handle))) {
    const error = new ExceptionWithHostPort(numbers.get("EADDRINUSE"), "listen", address, port ?? -1);
    process.nextTick(() => server.emit("error", error));
    return server;
  }
  server._key = key;
  server._address = port === undefined ? key : { address, family: isIPv6(address) ? "IPv6" : "IPv4", port };
  process.nextTick(() => {
    // It may have been closed before it listened.
    if (server._key !== undefined) server.emit("listening");
  });
  return server;
}

function accept(server, handle) {
  if (server._key === undefined) return handle.close();
  const { maxConnections } = server;
  if (maxConnections !== undefined && maxConnections !== null && server._connections >= maxConnections) {
    const data = {
      localAddress: handle.ownAddress, localPort: handle.ownPort, localFamily: "IPv4",
      remoteAddress: handle.address, remotePort: handle.port, remoteFamily: "IPv4",
    };
    handle.close();
    server.emit("drop", data);
    return;
  }
  const socket = new Socket({
    handle, allowHalfOpen: server.allowHalfOpen, highWaterMark: server.highWaterMark, signal: server._options.signal,
  });
  server._connections += 1;
  socket.server = server;
  socket._server = server;
  if (server.pauseOnConnect) socket.pause();
  else socket.read(0);
  server.emit("connection", socket);
}

Server.prototype.close = function close(callback) {
  if (typeof callback === "function") {
    if (this._key === undefined) this.once("close", () => callback(new ERR_SERVER_NOT_RUNNING()));
    else this.once("close", callback);
  }
  if (this._key !== undefined) {
    loopback.unlisten(this._key);
    this._key = undefined;
    this._address = null;
  }
  this._emitCloseIfDrained();
  return this;
};

/** "close" comes when the last connection has ended. */
Server.prototype._emitCloseIfDrained = function emitCloseIfDrained() {
  if (this._key === undefined && this._connections === 0) process.nextTick(() => this.emit("close"));
};

Server.prototype.address = function address() { return this._address; };

Server.prototype.getConnections = function getConnections(callback) {
  process.nextTick(callback, null, this._connections);
  return this;
};

Server.prototype[Symbol.asyncDispose] = function asyncDispose() {
  if (this._key === undefined) return Promise.resolve();
  return new Promise((resolve, reject) => this.close((error) => (error ? reject(error) : resolve())));
};

Server.prototype[EventEmitter.captureRejectionSymbol ?? Symbol("nodejs.rejection")] = function rejected(error, event, socket) {
  if (event === "connection") socket.destroy(error);
  else this.emit("error", error);
};

Server.prototype.ref = function ref() { return this; };
Server.prototype.unref = function unref() { return this; };

module.exports = { Server };
