"use strict";
// The settings of secure connections, as the natives take them.

const { Buffer } = require("buffer");
const { codes: { ERR_INVALID_ARG_TYPE, ERR_INVALID_ARG_VALUE, ERR_TLS_INVALID_PROTOCOL_VERSION } } = require("internal/errors");

const VERSIONS = ["TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"];

/** A list of bytes from PEM or DER: one, or several in an array. */
function bytesOf(value, name) {
  if (value === undefined || value === null) return [];
  return (Array.isArray(value) ? value : [value]).map((one) => {
    if (typeof one === "string") return Buffer.from(one);
    if (ArrayBuffer.isView(one)) return new Uint8Array(one.buffer, one.byteOffset, one.byteLength);
    if (typeof one?.export === "function") return Buffer.from(one.export({ type: "pkcs8", format: "pem" }));
    throw new ERR_INVALID_ARG_TYPE(name, ["string", "Buffer", "TypedArray", "DataView"], one);
  });
}

class SecureContext {
  constructor(options) {
    this.context = undefined;
    this.ca = bytesOf(options.ca, "options.ca");
    this.cert = bytesOf(options.cert, "options.cert");
    const { key } = options;
    this.key = bytesOf(typeof key === "object" && key !== null && "pem" in key ? key.pem : Array.isArray(key) ? key.map((one) => one?.pem ?? one) : key, "options.key");
    if (options.pfx !== undefined) {
      throw new Error("node:tls: `pfx` is not supported in Hearth: give `cert` and `key` as PEM");
    }
    const least = version(options.minVersion, "minimum", "TLSv1.2");
    const most = version(options.maxVersion, "maximum", "TLSv1.3");
    if (least > most || most < VERSIONS.indexOf("TLSv1.2")) {
      throw new ERR_INVALID_ARG_VALUE("options.maxVersion", options.maxVersion, "must allow TLSv1.2 or TLSv1.3");
    }
    this.only12 = most === VERSIONS.indexOf("TLSv1.2");
    this.only13 = least === VERSIONS.indexOf("TLSv1.3");
  }

  /** [certificates, key] where both are there. */
  get identity() {
    if (this.cert.length === 0 || this.key.length === 0) return [];
    return [Buffer.concat(this.cert.flatMap((part) => [part, Buffer.from("\n")])), this.key[0]];
  }
}

function version(name, which, usual) {
  const at = VERSIONS.indexOf(name ?? usual);
  if (at < 0) throw new ERR_TLS_INVALID_PROTOCOL_VERSION(name, which);
  return at;
}

function createSecureContext(options = {}) {
  return new SecureContext(options ?? {});
}

module.exports = { SecureContext, createSecureContext };
