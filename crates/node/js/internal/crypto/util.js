"use strict";
// What the parts of node:crypto share: arguments as bytes, results as Buffers, the errors of OpenSSL.

const { Buffer } = require("buffer");
const errors = require("internal/errors");
const { validateFunction, validateString } = require("internal/validators");

const native = binding("crypto");
const { ERR_INVALID_ARG_TYPE } = errors.codes;

const isView = ArrayBuffer.isView;
const isBuffer = (value) => value instanceof ArrayBuffer || Object.prototype.toString.call(value) === "[object ArrayBuffer]";
const isBytes = (value) => isView(value) || isBuffer(value);

/** The bytes of a view or an ArrayBuffer. */
function bytesOf(value) {
  if (isBuffer(value)) return new Uint8Array(value);
  return value instanceof Uint8Array ? value : new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

/** A string, view or ArrayBuffer as bytes. */
function toBytes(value, name, encoding = undefined, accepted = ["string", "ArrayBuffer", "Buffer", "TypedArray", "DataView"]) {
  if (typeof value === "string") return Buffer.from(value, encoding === "buffer" || encoding === undefined ? "utf8" : encoding);
  if (isBytes(value)) return bytesOf(value);
  throw new ERR_INVALID_ARG_TYPE(name, accepted, value);
}

/** A result of the natives as a Buffer, or as text. */
function give(buffer, encoding = undefined) {
  const result = Buffer.from(buffer);
  return encoding === undefined || encoding === null || encoding === "buffer" ? result : result.toString(encoding);
}

const RANGE = new Set(["ERR_CRYPTO_INVALID_KEYLEN", "ERR_CRYPTO_INVALID_MESSAGELEN", "ERR_OUT_OF_RANGE", "ERR_CRYPTO_INVALID_KEYTYPE"]);
const TYPE = new Set([
  "ERR_MISSING_ARGS", "ERR_MISSING_PASSPHRASE", "ERR_CRYPTO_INVALID_AUTH_TAG", "ERR_CRYPTO_INVALID_IV",
  "ERR_CRYPTO_INVALID_CURVE", "ERR_CRYPTO_INVALID_DIGEST",
]);

/** An error with one of Node's codes and this message. */
function coded(code, message) {
  const Base = RANGE.has(code) ? RangeError : TYPE.has(code) ? TypeError : Error;
  const error = new Base(message);
  error.code = code;
  return error;
}

/** Libraries of OpenSSL whose names are part of the codes. */
const LIBRARIES = {
  __proto__: null,
  "bignum routines": "BN_", "rsa routines": "RSA_", "Diffie-Hellman routines": "DH_", "digital envelope routines": "EVP_",
  "PEM routines": "PEM_", "dsa routines": "DSA_", "x509 certificate routines": "X509_", "asn1 encoding routines": "ASN1_",
  "common libcrypto routines": "CRYPTO_", "elliptic curve routines": "EC_", "PKCS12 routines": "PKCS12_",
  "random number generator": "RAND_", "KDF routines": "KDF_", "X509 V3 routines": "X509V3_", "OBJ routines": "OBJ_",
};

const NO_CONTEXT = "Context parameter is unsupported";

/** What the natives throw, as Node throws it. */
function nodeError(error) {
  if (!native.isOperationError(error)) return error;
  const { message } = error;
  const own = /^(ERR_[A-Z0-9_]+): ([^]*)$/.exec(message);
  if (own !== null) return coded(own[1], own[2]);
  const lines = message.split("\n");
  const parts = /^error:([0-9A-F]+):(.*)::(.*)$/.exec(lines[0]);
  if (message === "" || message === NO_CONTEXT) return coded("ERR_CRYPTO_OPERATION_FAILED", message || "Operation failed");
  if (parts === null) return new Error(message);
  const made = new Error(lines[0]);
  if (lines.length > 1) made.opensslErrorStack = lines.slice(1).reverse();
  made.library = parts[2];
  made.reason = parts[3];
  made.code = `ERR_OSSL_${LIBRARIES[parts[2]] ?? ""}${parts[3].toUpperCase().replace(/[ -]/g, "_").replace(/[^A-Z0-9_]/g, "")}`;
  return made;
}

/** The natives' functions, with errors as Node has them. */
const crypto = {};
for (const name of ["runSync", "info", "createHash", "copyHash", "createHmac", "createCipher", "update", "call", "secretKey",
  "secretBytes", "rawPublic", "readKey", "keyFromJwk", "keyToJwk", "writeKey", "describe", "equalKeys", "publicHalf",
  "toCryptoKey", "certificate", "random"]) {
  const fn = native[name];
  crypto[name] = (...values) => {
    try {
      return fn(...values);
    } catch (error) {
      throw nodeError(error);
    }
  };
}

/** Computes off the thread where it takes long; `callback(error, result)` in a later turn. `convert` makes the result Node's. */
function runAsync(name, keys, values, convert, callback) {
  validateFunction(callback, "callback");
  const run = async () => convert(await native.run(name, keys, values));
  const settle = (...results) => setTimeout(callback, 0, ...results);
  run().then((result) => settle(null, ...(Array.isArray(result) ? result : [result])), (error) => settle(nodeError(error)));
}

/** Synchronous where there is no callback. */
function runEither(name, keys, values, convert, callback) {
  if (callback === undefined) return convert(crypto.runSync(name, keys, values));
  runAsync(name, keys, values, convert, callback);
  return undefined;
}

/** Names of hashes as Web Cryptography has them are names for OpenSSL, too. */
function digestName(name) {
  const known = { __proto__: null, "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512", "SHA-224": "sha224" };
  return known[`${name}`.toUpperCase()] ?? name;
}

/** A name of a digest that exists. */
function checkDigest(name, argument = "digest") {
  validateString(name, argument);
  if (crypto.info("digest", name) === undefined) throw new errors.codes.ERR_CRYPTO_INVALID_DIGEST(name);
  return name;
}

const warned = new Set();

/** A warning, once for each code. */
function deprecated(code, text) {
  if (warned.has(code)) return;
  warned.add(code);
  require("process").emitWarning(text, "DeprecationWarning", code);
}

module.exports = {
  Buffer, bytesOf, checkDigest, codes: errors.codes, coded, crypto, deprecated, digestName, give, isBytes, isView, native, nodeError,
  runAsync, runEither, toBytes,
};
