"use strict";
// Hash, Hmac and hash() (https://nodejs.org/api/crypto.html#class-hash).

const { lazyStream } = require("internal/crypto/lazy_stream");
const { Buffer, codes, coded, crypto, deprecated, give, isBytes, toBytes } = require("internal/crypto/util");
const { prepareSecretKey } = require("internal/crypto/keys");
const { validateEncoding, validateString, validateUint32 } = require("internal/validators");

const LazyTransform = lazyStream("Transform");
const kState = Symbol("kState");
const kFinished = Symbol("kFinished");
/** What the stream has given: digest() gives it once more. */
const kResult = Symbol("kResult");

const { ERR_CRYPTO_HASH_FINALIZED, ERR_INVALID_ARG_TYPE } = codes;

function Hash(algorithm, options) {
  if (!new.target) {
    deprecated("DEP0179", "crypto.Hash constructor is deprecated.");
    return new Hash(algorithm, options);
  }
  const copied = algorithm instanceof Hash;
  if (!copied) validateString(algorithm, "algorithm");
  const bytes = typeof options === "object" && options !== null ? options.outputLength : undefined;
  if (bytes !== undefined) validateUint32(bytes, "options.outputLength");
  if (!copied && crypto.info("digest", algorithm) === undefined) {
    throw Object.assign(new Error("Digest method not supported"), { code: "ERR_CRYPTO_INVALID_DIGEST" });
  }
  this[kState] = copied ? crypto.copyHash(algorithm[kState], bytes) : crypto.createHash(algorithm, bytes);
  this[kFinished] = false;
  LazyTransform.call(this, options);
}
Object.setPrototypeOf(Hash.prototype, LazyTransform.prototype);
Object.setPrototypeOf(Hash, LazyTransform);

for (const { prototype } of [Hash, Hmac]) {
  // Here, so that setting them asks nothing of the stream.
  prototype[kState] = undefined;
  prototype[kFinished] = false;
  prototype[kResult] = undefined;
}

Hash.prototype.copy = function copy(options) {
  if (this[kFinished]) throw new ERR_CRYPTO_HASH_FINALIZED();
  return new Hash(this, options);
};

function transform(chunk, encoding, callback) {
  this.update(chunk, encoding);
  callback();
}

function update(data, encoding) {
  if (this[kFinished]) throw new ERR_CRYPTO_HASH_FINALIZED();
  if (typeof data === "string") validateEncoding(data, encoding);
  else if (!ArrayBuffer.isView(data)) throw new ERR_INVALID_ARG_TYPE("data", ["string", "Buffer", "TypedArray", "DataView"], data);
  crypto.update(this[kState], toBytes(data, "data", encoding));
  return this;
}

Hash.prototype._transform = transform;
Hash.prototype._flush = function _flush(callback) {
  this[kResult] = crypto.call(this[kState], "finish");
  this.push(give(this[kResult].slice(0)));
  callback();
};
Hash.prototype.update = update;
Hash.prototype.digest = function digest(encoding) {
  if (this[kFinished]) throw new ERR_CRYPTO_HASH_FINALIZED();
  if (encoding !== undefined && encoding !== "buffer") encoding = `${encoding}`;
  const result = this[kResult] ?? crypto.call(this[kState], "finish");
  this[kFinished] = true;
  return give(result, encoding);
};

function Hmac(algorithm, key, options) {
  if (!new.target) {
    deprecated("DEP0181", "crypto.Hmac constructor is deprecated.");
    return new Hmac(algorithm, key, options);
  }
  validateString(algorithm, "hmac");
  const handle = prepareSecretKey(key, options === null || options === undefined ? undefined : options.encoding);
  if (crypto.info("digest", algorithm) === undefined) throw coded("ERR_CRYPTO_INVALID_DIGEST", `Invalid digest: ${algorithm}`);
  this[kState] = crypto.createHmac(algorithm, handle);
  this[kFinished] = false;
  LazyTransform.call(this, options);
}
Object.setPrototypeOf(Hmac.prototype, LazyTransform.prototype);
Object.setPrototypeOf(Hmac, LazyTransform);

Hmac.prototype.update = update;
Hmac.prototype._transform = transform;
Hmac.prototype._flush = function _flush(callback) {
  this.push(this.digest());
  callback();
};
Hmac.prototype.digest = function digest(encoding) {
  if (encoding !== undefined && encoding !== "buffer") encoding = `${encoding}`;
  if (this[kFinished]) {
    deprecated("DEP0206", "Calling Hmac.digest() more than once is deprecated.");
    return encoding === undefined || encoding === "buffer" ? Buffer.from("") : "";
  }
  const result = this[kResult] ?? crypto.call(this[kState], "finish");
  this[kFinished] = true;
  return give(result, encoding);
};

/** hash(algorithm, data[, options]): at once. */
function hash(algorithm, data, options) {
  validateString(algorithm, "algorithm");
  if (typeof data !== "string" && !isBytes(data)) {
    throw new ERR_INVALID_ARG_TYPE("input", ["string", "Buffer", "TypedArray", "DataView"], data);
  }
  let encoding = "hex";
  let bytes;
  if (typeof options === "string") encoding = options;
  else if (options !== undefined) {
    if (options === null || typeof options !== "object") throw new ERR_INVALID_ARG_TYPE("options", ["Object", "string"], options);
    ({ outputLength: bytes, outputEncoding: encoding = "hex" } = options);
    validateString(encoding, "outputEncoding");
    if (bytes !== undefined) validateUint32(bytes, "outputLength");
  }
  if (encoding !== "buffer" && !Buffer.isEncoding(encoding)) {
    throw new codes.ERR_INVALID_ARG_VALUE(typeof options === "string" ? "outputEncoding" : "options.outputEncoding", encoding);
  }
  if (crypto.info("digest", algorithm) === undefined) {
    throw Object.assign(new Error("Digest method not supported"), { code: "ERR_CRYPTO_INVALID_DIGEST" });
  }
  const fixed = bytes === undefined || /^shake/i.test(algorithm) ? bytes : crypto.info("digest", algorithm);
  if (bytes !== fixed) throw new Error(`Output length ${bytes} is invalid for ${algorithm}, which does not support XOF`);
  return give(crypto.runSync("hash", [], [algorithm, toBytes(data, "input"), bytes]), encoding);
}

module.exports = { Hash, Hmac, hash };
