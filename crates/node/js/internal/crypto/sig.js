"use strict";
// Signatures (https://nodejs.org/api/crypto.html#class-sign). Sign and Verify keep a digest only, however much they are fed.

const { lazyStream } = require("internal/crypto/lazy_stream");
const { codes, coded, crypto, digestName, give, isBytes, runAsync, toBytes } = require("internal/crypto/util");
const { prepareAsymmetricKey } = require("internal/crypto/keys");
const { validateEncoding, validateFunction, validateString } = require("internal/validators");

const Writable = lazyStream("Writable");
const kState = Symbol("kState");
const kDigest = Symbol("kDigest");

const { ERR_CRYPTO_SIGN_KEY_REQUIRED, ERR_INVALID_ARG_TYPE, ERR_INVALID_ARG_VALUE } = codes;

function init(self, algorithm, options) {
  validateString(algorithm, "algorithm");
  Writable.call(self, options);
  if (crypto.info("digest", digestName(algorithm)) === undefined) throw coded("ERR_CRYPTO_INVALID_DIGEST", `Invalid digest: ${algorithm}`);
  self[kDigest] = digestName(algorithm);
  self[kState] = crypto.createHash(self[kDigest], undefined);
}

function Sign(algorithm, options) {
  if (!new.target) return new Sign(algorithm, options);
  init(this, algorithm, options);
}

function Verify(algorithm, options) {
  if (!new.target) return new Verify(algorithm, options);
  init(this, algorithm, options);
}

for (const Class of [Sign, Verify]) {
  Object.setPrototypeOf(Class.prototype, Writable.prototype);
  Object.setPrototypeOf(Class, Writable);
  Class.prototype[kState] = undefined;
  Class.prototype[kDigest] = undefined;
  Class.prototype._write = function _write(chunk, encoding, callback) {
    this.update(chunk, encoding);
    callback();
  };
  Class.prototype.update = function update(data, encoding) {
    if (typeof data === "string") validateEncoding(data, encoding);
    else if (!ArrayBuffer.isView(data)) throw new ERR_INVALID_ARG_TYPE("data", ["string", "Buffer", "TypedArray", "DataView"], data);
    if (this[kState] === undefined) throw new codes.ERR_CRYPTO_INVALID_STATE("update");
    crypto.update(this[kState], toBytes(data, "data", encoding));
    return this;
  };
}

function integer(options, name) {
  const value = options?.[name];
  if (value === undefined) return undefined;
  if (value !== value >> 0) throw new ERR_INVALID_ARG_VALUE(`options.${name}`, value);
  return value;
}

/** [digest, padding, salt, P1363?, context] */
function signatureOptions(digest, options) {
  const encoding = typeof options === "object" && options !== null ? options.dsaEncoding : undefined;
  if (encoding !== undefined && encoding !== "der" && encoding !== "ieee-p1363") {
    throw new ERR_INVALID_ARG_VALUE("options.dsaEncoding", encoding);
  }
  const padding = integer(options, "padding");
  const salt = integer(options, "saltLength");
  let context = typeof options === "object" && options !== null ? options.context : undefined;
  if (context !== undefined) context = toBytes(context, "context");
  return [digest, padding, salt, encoding === "ieee-p1363", context];
}

function finished(self) {
  if (self[kState] === undefined) throw new codes.ERR_CRYPTO_INVALID_STATE("sign");
  const digest = new Uint8Array(crypto.call(self[kState], "finish"));
  self[kState] = undefined;
  return digest;
}

Sign.prototype.sign = function sign(options, encoding) {
  if (!options) throw new ERR_CRYPTO_SIGN_KEY_REQUIRED();
  const { handle } = prepareAsymmetricKey(options, "private", "key");
  const values = signatureOptions(this[kDigest], options);
  return give(crypto.runSync("sign", [handle], [...values, finished(this), true]), encoding);
};

Verify.prototype.verify = function verify(options, signature, encoding) {
  const { handle } = prepareAsymmetricKey(options, "public", "key");
  const values = signatureOptions(this[kDigest], options);
  const bytes = toBytes(signature, "signature", encoding);
  return crypto.runSync("verify", [handle], [...values, finished(this), true, bytes]);
};

function prepare(algorithm, data, key, wanted) {
  if (algorithm !== null && algorithm !== undefined) validateString(algorithm, "algorithm");
  if (typeof data !== "string" && !isBytes(data)) {
    throw new ERR_INVALID_ARG_TYPE("data", ["ArrayBuffer", "Buffer", "TypedArray", "DataView"], data);
  }
  let digest;
  if (algorithm !== null && algorithm !== undefined) {
    digest = digestName(algorithm);
    if (crypto.info("digest", digest) === undefined) throw coded("ERR_CRYPTO_INVALID_DIGEST", `Invalid digest: ${algorithm}`);
  }
  const values = signatureOptions(digest, key);
  const { handle } = prepareAsymmetricKey(key, wanted, "key");
  return { handle, values: [...values, toBytes(data, "data"), false] };
}

function signOneShot(algorithm, data, key, callback) {
  if (callback !== undefined) validateFunction(callback, "callback");
  if (!key) throw new ERR_CRYPTO_SIGN_KEY_REQUIRED();
  const { handle, values } = prepare(algorithm, data, key, "private");
  if (callback === undefined) return give(crypto.runSync("sign", [handle], values));
  runAsync("sign", [handle], values, give, callback);
  return undefined;
}

function verifyOneShot(algorithm, data, key, signature, callback) {
  if (callback !== undefined) validateFunction(callback, "callback");
  if (!isBytes(signature)) {
    throw new ERR_INVALID_ARG_TYPE("signature", ["ArrayBuffer", "Buffer", "TypedArray", "DataView"], signature);
  }
  const { handle, values } = prepare(algorithm, data, key, "public");
  const all = [...values, toBytes(signature, "signature")];
  if (callback === undefined) return crypto.runSync("verify", [handle], all);
  runAsync("verify", [handle], all, (verdict) => verdict, callback);
  return undefined;
}

module.exports = { Sign, Verify, signOneShot, verifyOneShot };
