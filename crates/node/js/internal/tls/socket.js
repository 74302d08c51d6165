"use strict";
// TLSSocket: a net.Socket whose handle is secured by the natives, in place. Over a stream that is no socket of the natives (a pair
// in memory, any Duplex), its bytes go through a native pair, one end of which is secured.

const net = binding("net");
const process = require("process");
const { Buffer } = require("buffer");
const { ConnResetException, codes: { ERR_TLS_HANDSHAKE_TIMEOUT } } = require("internal/errors");
const { isIP } = require("internal/net/address");
const { NativeHandle } = require("internal/net/handles");
const { Socket, kAttach, kConnected, kOpen, kOpening, kRun } = require("internal/net/socket");
const { SecureContext, createSecureContext } = require("internal/tls/context");
const { checkServerIdentity, protocolList } = require("internal/tls/identity");

/** Loaded where an app reads a certificate. */
const CRYPTO = "crypto";
const CHECK_CHAIN = 1;
const ONLY_12 = 4;
const ONLY_13 = 8;

const kOptions = Symbol("kOptions");
const kPeer = Symbol("kPeer");
const kSecure = Symbol("kSecure");

function TLSSocket(socket, options) {
  if (!(this instanceof TLSSocket)) return new TLSSocket(socket, options);
  options = { ...options };
  if (options.isServer) {
    throw new Error("node:tls: the server's end of TLS is not supported in Hearth: the platform ends TLS in front of an app");
  }
  Socket.call(this, {
    allowHalfOpen: socket ? socket.allowHalfOpen : options.allowHalfOpen,
    highWaterMark: options.highWaterMark, onread: options.onread, signal: options.signal,
  });
  this[kOptions] = options;
  this[kPeer] = undefined;
  this.encrypted = true;
  this.authorized = false;
  this.authorizationError = null;
  this.alpnProtocol = null;
  this.servername = options.servername ?? null;
  this.ssl = {};
  this._tlsOptions = options;
  this._secureEstablished = false;
  this.secureConnecting = true;
  if (socket) over(this, socket);
}
Object.setPrototypeOf(TLSSocket.prototype, Socket.prototype);
Object.setPrototypeOf(TLSSocket, Socket);

/** Secures a stream that there is already. */
function over(secured, socket) {
  secured._parent = socket instanceof Socket ? socket : null;
  secured[kOpening] = true;
  const start = () => {
    if (secured.destroyed) return;
    const handle = socket instanceof Socket ? socket._handle : null;
    if (handle instanceof NativeHandle && !(socket instanceof TLSSocket && !socket._secureEstablished)) {
      // The socket's connection is this one's from now on.
      handle.readStop();
      handle.onread = undefined;
      secured.once("close", () => socket.destroy());
      secured[kSecure](handle);
    } else {
      pump(secured, socket);
    }
  };
  socket.on("error", (error) => secured.destroy(error));
  socket.once("close", () => { if (!secured.destroyed) secured.destroy(); });
  if (socket.connecting) socket.once(socket instanceof TLSSocket ? "secureConnect" : "connect", start);
  else process.nextTick(start);
}

/** Carries the bytes of a stream to one end of a native pair, and secures the other. */
function pump(secured, stream) {
  const [inner, outer] = net.pair();
  const other = new NativeHandle([outer], secured[kRun]);
  other.onread = (bytes) => {
    if (bytes === null) stream.end();
    else if (!(bytes instanceof Uint8Array)) stream.destroy();
    else if (!stream.write(Buffer.from(bytes))) {
      other.readStop();
      stream.once("drain", () => other.readStart());
    }
  };
  other.readStart();
  stream.on("data", (bytes) => {
    stream.pause();
    other.write(bytes, () => stream.resume());
  });
  stream.once("end", () => other.shutdown(() => {}));
  secured.once("close", () => {
    other.close();
    stream.destroy();
  });
  stream.resume();
  const { remoteAddress, remotePort, localAddress, localPort } = stream;
  secured[kSecure](new NativeHandle([inner, remoteAddress, remotePort, localAddress, localPort], secured[kRun]));
}

/** The connection is there: instead of "connect" alone, the handshake follows. */
TLSSocket.prototype[kConnected] = function connected(handle) {
  this.connecting = false;
  this.emit("connect");
  this.emit("ready");
  if (!this.destroyed) this[kSecure](handle);
  else handle.close();
};

TLSSocket.prototype[kSecure] = function secure(handle) {
  const options = this[kOptions];
  const { context, name } = this._setUp();
  const flags = (options.rejectUnauthorized !== false ? CHECK_CHAIN : 0) | (context.only12 ? ONLY_12 : 0) | (context.only13 ? ONLY_13 : 0);
  this[kOpening] = true;
  this._closing = () => handle.close();
  this.once("close", this._closing);
  let securing;
  try {
    securing = net.secure(handle.id, name, flags, context.ca, context.identity, protocolList(options.ALPNProtocols));
  } catch (error) {
    securing = Promise.reject(error);
  }
  securing.then((result) => this[kRun](() => finish(this, handle, result)), (error) => this[kRun](() => this.destroy(error)));
};

TLSSocket.prototype._setUp = function setUp() {
  const options = this[kOptions];
  const given = options.secureContext;
  const context = given instanceof SecureContext ? given : createSecureContext(options);
  let name = options.servername || options.host || this._host || "localhost";
  if (!isIP(name) && name.endsWith(".")) name = name.slice(0, -1);
  return { context, name };
};

function finish(socket, handle, result) {
  if (socket.destroyed) return handle.close();
  if (result.length === 3) return socket.destroy(handshakeError(result, socket));
  const [protocol, version, cipher, chainFault, wrongName, certificates] = result;
  socket[kPeer] = { version, cipher, certificates };
  socket.alpnProtocol = protocol === "" ? false : protocol;
  const options = socket[kOptions];
  let error = chainFault === "" ? undefined : chainError(chainFault);
  try {
    if (error === undefined) error = identityError(socket, options, wrongName);
  } catch (thrown) {
    handle.close();
    return socket.destroy(thrown);
  }
  socket.authorized = error === undefined;
  socket.authorizationError = error === undefined ? null : (error.code ?? error.message);
  if (error !== undefined && options.rejectUnauthorized !== false) {
    handle.close();
    return socket.destroy(error);
  }
  socket.off("close", socket._closing);
  socket._secureEstablished = true;
  socket.secureConnecting = false;
  socket[kAttach](handle);
  if (socket.servername === null && !isIP(socket._setUp().name)) socket.servername = socket._setUp().name;
  socket.emit(kOpen);
  socket.emit("secure");
  socket.emit("secureConnect");
  if (!socket.isPaused() && socket._handle !== null && !socket.destroyed) socket.read(0);
}

/** The default check is the natives' own; where it fails, and for an app's own check, the certificate is read. */
function identityError(socket, options, wrongName) {
  const own = options.checkServerIdentity;
  if ((own === undefined || own === checkServerIdentity) && !wrongName) return undefined;
  const host = options.servername || options.host || socket._host || "localhost";
  return (own ?? checkServerIdentity)(host, socket.getPeerCertificate(true));
}

const CHAIN_TEXTS = {
  __proto__: null,
  CERT_HAS_EXPIRED: "certificate has expired",
  CERT_NOT_YET_VALID: "certificate is not yet valid",
  CERT_REJECTED: "certificate rejected",
  CERT_SIGNATURE_FAILURE: "certificate signature failure",
  DEPTH_ZERO_SELF_SIGNED_CERT: "self-signed certificate",
  INVALID_PURPOSE: "unsupported certificate purpose",
  SELF_SIGNED_CERT_IN_CHAIN: "self-signed certificate in certificate chain",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "unable to get local issuer certificate",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "unable to verify the first certificate",
};

function chainError(code) {
  return Object.assign(new Error(CHAIN_TEXTS[code]), { code });
}

function handshakeError([code, message], socket) {
  if (code in CHAIN_TEXTS) return chainError(code);
  if (code === "ERR_TLS_HANDSHAKE_TIMEOUT") return new ERR_TLS_HANDSHAKE_TIMEOUT();
  if (code === "ECONNRESET" || code === "ENOTCONN") {
    const { host, port, path } = socket[kOptions];
    const error = new ConnResetException("Client network socket disconnected before secure TLS connection was established");
    return Object.assign(error, { path, host, port, localAddress: undefined });
  }
  return Object.assign(new Error(message), { code });
}

// ---- what is known of the peer

/** The certificate as Node has it; with `detailed`, its issuers follow by `issuerCertificate`. */
TLSSocket.prototype.getPeerCertificate = function getPeerCertificate(detailed) {
  const { certificates } = this[kPeer] ?? { certificates: [] };
  if (certificates.length === 0) return this[kPeer] === undefined ? null : {};
  const list = (detailed ? certificates : certificates.slice(0, 1)).map((der) => this._certificate(der).toLegacyObject());
  for (let i = 0; i + 1 < list.length; i++) list[i].issuerCertificate = list[i + 1];
  if (detailed) list[list.length - 1].issuerCertificate = list[list.length - 1];
  return list[0];
};

TLSSocket.prototype.getPeerX509Certificate = function getPeerX509Certificate() {
  const der = this[kPeer]?.certificates[0];
  return der === undefined ? undefined : this._certificate(der);
};

TLSSocket.prototype._certificate = function certificate(der) {
  const { X509Certificate } = require(CRYPTO);
  return new X509Certificate(Buffer.from(der));
};

TLSSocket.prototype.getProtocol = function getProtocol() { return this[kPeer]?.version ?? null; };

TLSSocket.prototype.getCipher = function getCipher() {
  if (this[kPeer] === undefined) return undefined;
  const { cipher, version } = this[kPeer];
  const standardName = cipher.replace(/^TLS13_/, "TLS_");
  const name = version === "TLSv1.3" ? standardName : standardName.replace(/^TLS_|WITH_/g, "").replaceAll("_", "-").replace(/AES-(\d+)/, "AES$1");
  return { name, standardName, version };
};

TLSSocket.prototype.getCertificate = function getCertificate() { return {}; };
TLSSocket.prototype.getEphemeralKeyInfo = function getEphemeralKeyInfo() { return {}; };
TLSSocket.prototype.getFinished = function getFinished() { return undefined; };
TLSSocket.prototype.getPeerFinished = function getPeerFinished() { return undefined; };
TLSSocket.prototype.getSession = function getSession() { return undefined; };
TLSSocket.prototype.getSharedSigalgs = function getSharedSigalgs() { return []; };
TLSSocket.prototype.getTLSTicket = function getTLSTicket() { return undefined; };
TLSSocket.prototype.isSessionReused = function isSessionReused() { return false; };
TLSSocket.prototype.setSession = function setSession() {};
TLSSocket.prototype.setServername = function setServername(name) { this.servername = name; };
TLSSocket.prototype.setMaxSendFragment = function setMaxSendFragment() { return true; };
TLSSocket.prototype.enableTrace = function enableTrace() {};
TLSSocket.prototype.disableRenegotiation = function disableRenegotiation() {};

/** Rustls has no renegotiation, as TLS 1.3 has none. */
TLSSocket.prototype.renegotiate = function renegotiate(options, callback) {
  const error = new Error("node:tls: renegotiation is not supported in Hearth");
  if (callback !== undefined) process.nextTick(callback, error);
  return false;
};

TLSSocket.prototype.exportKeyingMaterial = function exportKeyingMaterial() {
  throw new Error("node:tls: exportKeyingMaterial is not supported in Hearth");
};

/** (options), (port, host, options) and (path, options), each with a callback. */
function connect(...args) {
  const { _normalizeArgs, Socket: NetSocket } = require("net");
  const [given, callback] = _normalizeArgs(args);
  const more = args.slice(1, 3).find((arg) => typeof arg === "object" && arg !== null);
  const options = { ...given, ...more };
  if (options.rejectUnauthorized === undefined && process.env.NODE_TLS_REJECT_UNAUTHORIZED === "0") options.rejectUnauthorized = false;
  if (options.checkServerIdentity !== undefined) require("internal/validators").validateFunction(options.checkServerIdentity, "options.checkServerIdentity");
  const socket = new TLSSocket(options.socket, options);
  // A setting that cannot be used is thrown here.
  socket._setUp();
  if (callback !== null) socket.once("secureConnect", callback);
  if (options.timeout) socket.setTimeout(options.timeout);
  if (!options.socket) NetSocket.prototype.connect.call(socket, options);
  return socket;
}

module.exports = { TLSSocket, connect };
