"use strict";
// net.Socket: a Duplex over a handle (internal/net/handles). `node:tls` derives from it.

const { Duplex } = require("stream");
const net = binding("net");
const process = require("process");
const { Buffer } = require("buffer");
const {
  DNSException, ExceptionWithHostPort,
  codes: {
    ERR_INVALID_ADDRESS_FAMILY, ERR_INVALID_ARG_TYPE, ERR_INVALID_ARG_VALUE, ERR_INVALID_IP_ADDRESS, ERR_MISSING_ARGS,
    ERR_SOCKET_CLOSED, ERR_SOCKET_CLOSED_BEFORE_CONNECTION,
  },
} = require("internal/errors");
const { numbers } = require("internal/system_errors");
const { validateAbortSignal, validateBoolean, validateFunction, validateInt32, validateNumber, validatePort, validateString } = require("internal/validators");
const { isIP, isIPv6, isLoopback } = require("internal/net/address");
const { NativeHandle } = require("internal/net/handles");
const loopback = require("internal/net/loopback");

const kAdopt = Symbol("kAdopt");
const kAttach = Symbol("kAttach");
const kConnected = Symbol("kConnected");
const kOpen = Symbol("kOpen");
const kOpening = Symbol("kOpening");
const kRun = Symbol("kRun");
const kActive = Symbol("kActive");
const kTimer = Symbol("kTimer");
const kReadBuffer = Symbol("kReadBuffer");
const kReset = Symbol("kReset");
const kAddresses = Symbol("kAddresses");
const MAX_TIMEOUT = 2 ** 31 - 1;

function Socket(options) {
  if (!(this instanceof Socket)) return new Socket(options);
  options = typeof options === "number" ? { fd: options } : { ...options };
  if (options.objectMode || options.readableObjectMode || options.writableObjectMode) {
    throw new ERR_INVALID_ARG_VALUE("options.objectMode", options.objectMode ?? true, "is not supported");
  }
  if (options.fd !== undefined) {
    validateInt32(options.fd, "options.fd", 0);
    throw new Error("node:net: a socket of a file descriptor cannot be made in Hearth: connect to a host and a port");
  }
  if (options.signal !== undefined) validateAbortSignal(options.signal, "options.signal");
  this.connecting = false;
  // Reads and writes wait for the event kOpen: until there is a connection, and until it is secure.
  this[kOpening] = false;
  this._hadError = false;
  this._handle = null;
  this._host = null;
  this._parent = null;
  this._server = null;
  this.server = null;
  this.timeout = 0;
  this[kRun] = net.capture();
  this[kActive] = 0;
  this[kTimer] = undefined;
  this[kReset] = false;
  this[kReadBuffer] = typeof options.onread === "object" && options.onread !== null ? options.onread : undefined;
  this._bytesRead = 0;
  this._bytesDispatched = 0;
  const { handle, signal } = options;
  Duplex.call(this, {
    allowHalfOpen: options.allowHalfOpen === true,
    readable: options.readable !== false || handle !== undefined,
    writable: options.writable !== false || handle !== undefined,
    readableHighWaterMark: options.readableHighWaterMark ?? options.highWaterMark,
    writableHighWaterMark: options.writableHighWaterMark ?? options.highWaterMark,
    autoDestroy: true,
    emitClose: false,
    decodeStrings: true,
  });
  this.on("end", onEnd);
  if (handle) this[kAttach](handle);
  if (signal !== undefined) abortWith(this, signal);
}
Object.setPrototypeOf(Socket.prototype, Duplex.prototype);
Object.setPrototypeOf(Socket, Duplex);

function abortWith(socket, signal) {
  const abort = () => {
    const { AbortError } = require("internal/errors");
    socket.destroy(new AbortError(undefined, { cause: signal.reason }));
  };
  if (signal.aborted) process.nextTick(abort);
  else {
    signal.addEventListener("abort", abort, { once: true });
    socket.once("close", () => signal.removeEventListener("abort", abort));
  }
}

/** The other side has ended: what is written now goes nowhere, unless half of the connection may stay. */
function onEnd() {
  if (!this.allowHalfOpen) this.write = writeAfterEnd;
}

function writeAfterEnd(chunk, encoding, callback) {
  if (!this.writableEnded) return Duplex.prototype.write.call(this, chunk, encoding, callback);
  if (typeof encoding === "function") callback = encoding;
  const error = Object.assign(new Error("This socket has been ended by the other party"), { code: "EPIPE" });
  if (typeof callback === "function") process.nextTick(callback, error);
  this.destroy(error);
  return false;
}

/** Takes a handle that is connected. */
Socket.prototype[kAttach] = function attach(handle) {
  this._handle = handle;
  this.connecting = false;
  this[kOpening] = false;
  handle.onread = (bytes) => onRead(this, handle, bytes);
};

function onRead(socket, handle, bytes) {
  if (socket._handle !== handle || socket.destroyed) return;
  if (bytes instanceof Uint8Array) {
    touch(socket);
    socket._bytesRead += bytes.length;
    if (socket[kReadBuffer] !== undefined) return deliver(socket, handle, bytes);
    if (!socket.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))) handle.readStop();
  } else if (bytes === null) {
    if (socket.readableEnded || socket._readableState.ended) return;
    socket.push(null);
    socket.read(0);
  } else {
    socket.destroy(bytes);
  }
}

/** `onread: { buffer, callback }`: the app's own buffer instead of the stream. */
function deliver(socket, handle, bytes) {
  const { buffer, callback } = socket[kReadBuffer];
  for (let at = 0; at < bytes.length;) {
    const into = typeof buffer === "function" ? buffer() : buffer;
    const count = Math.min(into.length, bytes.length - at);
    into.set(bytes.subarray(at, at + count));
    at += count;
    if (callback(count, into) === false) handle.readStop();
  }
}

// ---- the stream

Socket.prototype._read = function _read(size) {
  if (this[kOpening] || this._handle === null) {
    if (!this.destroyed) this.once(kOpen, () => this._read(size));
  } else {
    this._handle.readStart();
  }
};

Socket.prototype._write = function _write(chunk, encoding, callback) {
  writeAll(this, [chunk], callback);
};

Socket.prototype._writev = function _writev(chunks, callback) {
  writeAll(this, chunks.map(({ chunk }) => chunk), callback);
};

function writeAll(socket, chunks, callback) {
  if (socket[kOpening]) {
    socket._pendingData = chunks;
    const onClose = () => callback(new ERR_SOCKET_CLOSED_BEFORE_CONNECTION());
    socket.once(kOpen, () => {
      socket.off("close", onClose);
      socket._pendingData = null;
      writeAll(socket, chunks, callback);
    });
    socket.once("close", onClose);
    return;
  }
  if (socket._handle === null) return callback(new ERR_SOCKET_CLOSED());
  touch(socket);
  const bytes = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
  socket._bytesDispatched += bytes.length;
  socket._handle.write(bytes, (error) => {
    touch(socket);
    callback(error);
  });
}

Socket.prototype._final = function _final(callback) {
  if (this[kOpening]) {
    this.once(kOpen, () => this._final(callback));
  } else if (this._handle === null) {
    callback();
  } else {
    // The other side may be gone already, which is no error at the end.
    this._handle.shutdown(() => callback());
  }
};

Socket.prototype._destroy = function _destroy(error, callback) {
  this.connecting = false;
  this[kOpening] = false;
  clearTimer(this);
  const handle = this._handle;
  this._handle = null;
  if (handle !== null) {
    if (this[kReset]) handle.reset = true;
    handle.onread = undefined;
    handle.close();
  }
  callback(error);
  process.nextTick(() => this.emit("close", error !== null && error !== undefined));
  if (this._server !== null) {
    const server = this._server;
    this._server = null;
    server._connections -= 1;
    server._emitCloseIfDrained();
  }
};

Socket.prototype.end = function end(data, encoding, callback) {
  Duplex.prototype.end.call(this, data, encoding, callback);
  return this;
};

/** The stream itself asks for more after a pause; the app's own buffer has to be told of. */
Socket.prototype.pause = function pause() {
  if (this[kReadBuffer] !== undefined && !this[kOpening]) this._handle?.readStop();
  return Duplex.prototype.pause.call(this);
};

Socket.prototype.resume = function resume() {
  if (this[kReadBuffer] !== undefined && !this[kOpening]) this._handle?.readStart();
  return Duplex.prototype.resume.call(this);
};

Socket.prototype.destroySoon = function destroySoon() {
  if (this.writable) this.end();
  if (this.writableFinished) this.destroy();
  else this.once("finish", this.destroy);
};

Socket.prototype.resetAndDestroy = function resetAndDestroy() {
  if (this._handle === null && !this.connecting) {
    this.destroy(new ERR_SOCKET_CLOSED());
  } else {
    this[kReset] = true;
    if (this.connecting) this.once("connect", () => this.destroy());
    else this.destroy();
  }
  return this;
};

// ---- connecting

Socket.prototype[kAdopt] = function adopt(options, callback) {
  if (callback !== null) {
    validateFunction(callback, "callback");
    this.once("connect", callback);
  }
  const { path } = options;
  if (path !== undefined && path !== null) validateString(path, "options.path");
  else if (options.port === undefined) throw new ERR_MISSING_ARGS(["options", "port", "path"]);
  if (this.destroyed || this._readableState.ended) {
    this._undestroy();
    this.write = Duplex.prototype.write;
    this._handle = null;
    this._bytesRead = 0;
    this._bytesDispatched = 0;
  }
  this.connecting = true;
  this[kOpening] = true;
  this[kAddresses] = undefined;
  touch(this);
  if (path) connectPath(this, path);
  else connectPort(this, options);
  return this;
};

function connectPath(socket, path) {
  process.nextTick(() => {
    if (!socket.connecting) return;
    if (loopback.hasListener(path)) return socket[kConnected](loopback.connect(path, ""));
    // Nothing outside of the worker has a path.
    socket.destroy(new ExceptionWithHostPort(numbers.get("ENOENT"), "connect", path));
  });
}

function connectPort(socket, options) {
  const { localAddress, localPort, lookup, family = 0 } = options;
  if (localAddress && !isIP(localAddress)) throw new ERR_INVALID_IP_ADDRESS(localAddress);
  if (localPort) validateNumber(localPort, "options.localPort");
  if (typeof options.port !== "number" && typeof options.port !== "string") {
    throw new ERR_INVALID_ARG_TYPE("options.port", ["number", "string"], options.port);
  }
  validatePort(options.port, "options.port");
  if (options.autoSelectFamily !== undefined && options.autoSelectFamily !== null) validateBoolean(options.autoSelectFamily, "options.autoSelectFamily");
  if (options.autoSelectFamilyAttemptTimeout !== undefined && options.autoSelectFamilyAttemptTimeout !== null) {
    validateInt32(options.autoSelectFamilyAttemptTimeout, "options.autoSelectFamilyAttemptTimeout", 1);
  }
  if (lookup !== undefined && lookup !== null) validateFunction(lookup, "options.lookup");
  const port = options.port | 0;
  const host = options.host || "localhost";
  if (typeof host !== "string") throw new ERR_INVALID_ARG_TYPE("options.host", "string", host);
  socket._host = host;
  if (!lookup || isIP(host) || lookup === require("dns").lookup) return connectHost(socket, host, port, host);
  lookup(host, { family, hints: options.hints ?? 0, all: false }, (error, found, kind) => {
    const address = Array.isArray(found) ? found[0]?.address : found;
    socket.emit("lookup", error, address, kind, host);
    if (!socket.connecting) return;
    if (error) return process.nextTick(() => socket.destroy(error));
    if (!isIP(address)) return socket.destroy(new ERR_INVALID_IP_ADDRESS(address));
    if (kind !== undefined && kind !== 4 && kind !== 6) return socket.destroy(new ERR_INVALID_ADDRESS_FAMILY(kind, host, port));
    connectHost(socket, address, port, address);
  });
}

function connectHost(socket, host, port) {
  if (isLoopback(host) && loopback.hasListener(port)) {
    process.nextTick(() => {
      if (!socket.connecting) return;
      if (!isIP(host)) socket.emit("lookup", null, "127.0.0.1", 4, host);
      if (loopback.hasListener(port)) socket[kConnected](loopback.connect(port, host));
      else socket.destroy(new ExceptionWithHostPort(numbers.get("ECONNREFUSED"), "connect", "127.0.0.1", port));
    });
    return;
  }
  if (port === 0) {
    process.nextTick(() => socket.destroy(new ExceptionWithHostPort(numbers.get("ECONNREFUSED"), "connect", host, port)));
    return;
  }
  let connecting;
  try {
    connecting = net.connect(host, port);
  } catch (error) {
    connecting = Promise.reject(Object.assign(error, { code: "EMFILE", syscall: "connect" }));
  }
  connecting.then((result) => {
    socket[kRun](() => settled(socket, result, host, port));
  }, (error) => {
    socket[kRun](() => socket.destroy(error));
  });
}

function settled(socket, result, host, port) {
  if (result.length === 3) {
    if (socket.connecting) socket.destroy(connectError(result, host, port));
    return;
  }
  const handle = new NativeHandle(result, socket[kRun]);
  if (!socket.connecting || socket.destroyed) return handle.close();
  if (!isIP(host)) socket.emit("lookup", null, handle.address, isIPv6(handle.address) ? 6 : 4, host);
  socket[kConnected](handle);
}

function connectError([code, message, address], host, port) {
  if (code === "ENOTFOUND") return new DNSException("ENOTFOUND", "getaddrinfo", host);
  if (code === "EACCES") {
    // The policy's own text says what would allow it.
    const properties = { code, errno: numbers.get(code), syscall: "connect", address: host, port };
    return Object.assign(new Error(`connect EACCES ${host}:${port}: ${message}`), properties);
  }
  return new ExceptionWithHostPort(numbers.get(code), "connect", address || host, port);
}

Socket.prototype[kConnected] = function connected(handle) {
  this[kAttach](handle);
  touch(this);
  this.emit(kOpen);
  this.emit("connect");
  this.emit("ready");
  if (!this.isPaused() && this._handle !== null && !this.destroyed) this.read(0);
};

// ---- time limits

function touch(socket) {
  for (let one = socket; one !== null && one !== undefined; one = one._parent) one[kActive] = performance.now();
}

function clearTimer(socket) {
  if (socket[kTimer] !== undefined) net.cancelTimer(socket[kTimer]);
  socket[kTimer] = undefined;
}

/** The timer is not moved at each event: when it is due, it waits for what is left. */
function startTimer(socket, delay) {
  socket[kTimer] = net.startTimer(() => socket[kRun](() => {
    socket[kTimer] = undefined;
    if (socket.destroyed || socket.timeout === 0) return;
    const left = socket.timeout - (performance.now() - socket[kActive]);
    if (left > 1) return startTimer(socket, left);
    socket[kActive] = performance.now();
    startTimer(socket, socket.timeout);
    socket.emit("timeout");
  }), delay);
}

Socket.prototype.setTimeout = function setTimeout(milliseconds, callback) {
  if (this.destroyed) return this;
  validateNumber(milliseconds, "msecs");
  if (milliseconds < 0 || !Number.isFinite(milliseconds)) {
    throw new (require("internal/errors").codes.ERR_OUT_OF_RANGE)("msecs", "a non-negative finite number", milliseconds);
  }
  if (callback !== undefined) validateFunction(callback, "callback");
  this.timeout = Math.min(milliseconds, MAX_TIMEOUT);
  clearTimer(this);
  if (milliseconds === 0) {
    if (callback !== undefined) this.removeListener("timeout", callback);
  } else {
    touch(this);
    startTimer(this, this.timeout);
    if (callback !== undefined) this.once("timeout", callback);
  }
  return this;
};
Socket.prototype._onTimeout = function onTimeout() { this.emit("timeout"); };
Socket.prototype._unrefTimer = function unrefTimer() { touch(this); };

// ---- settings, and what is known of the connection

Socket.prototype.setNoDelay = function setNoDelay() { return this; };
Socket.prototype.setKeepAlive = function setKeepAlive() { return this; };
Socket.prototype.ref = function ref() { return this; };
Socket.prototype.unref = function unref() { return this; };
Socket.prototype.getTypeOfService = function getTypeOfService() { return 0; };
Socket.prototype.setTypeOfService = function setTypeOfService() { return this; };

Socket.prototype.address = function address() {
  const { localAddress } = this;
  return localAddress === undefined ? {} : { address: localAddress, family: this.localFamily, port: this.localPort };
};

/** Those of the connection, which are still known after its end where they were asked for. */
function addresses(socket) {
  if (socket[kAddresses] === undefined && socket._handle && !socket.connecting) {
    const { address, port, ownAddress, ownPort } = socket._handle;
    socket[kAddresses] = { address, port, ownAddress, ownPort };
  }
  return socket[kAddresses];
}

function family(address) {
  return address === undefined ? undefined : isIPv6(address) ? "IPv6" : "IPv4";
}

const getters = {
  _connecting() { return this.connecting; },
  remoteAddress() { return addresses(this)?.address; },
  remoteFamily() { return family(this.remoteAddress); },
  remotePort() { return addresses(this)?.port; },
  localAddress() { return addresses(this)?.ownAddress; },
  localFamily() { return family(this.localAddress); },
  localPort() { return addresses(this)?.ownPort; },
  bytesRead() { return this._bytesRead; },
  bytesWritten() {
    if (this._bytesDispatched === undefined) return undefined;
    let bytes = this._bytesDispatched + (this._writableState?.length ?? 0);
    // What is being written counts once.
    if (this._handle !== null && this._writableState?.writing) bytes -= this._writableState.writelen ?? 0;
    return bytes;
  },
  bufferSize() { return this._handle === null && !this.connecting ? undefined : this.writableLength; },
  pending() { return this._handle === null || this.connecting; },
  readyState() {
    if (this.connecting) return "opening";
    if (this.readable && this.writable) return "open";
    if (this.readable) return "readOnly";
    return this.writable ? "writeOnly" : "closed";
  },
  autoSelectFamilyAttemptedAddresses() { return undefined; },
};
for (const name of Object.keys(getters)) {
  Object.defineProperty(Socket.prototype, name, { __proto__: null, configurable: true, enumerable: true, get: getters[name] });
}

module.exports = { Socket, connectError, kAdopt, kAttach, kConnected, kOpen, kOpening, kRun };
