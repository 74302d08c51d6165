"use strict";
// Ciphers (https://nodejs.org/api/crypto.html#class-cipheriv), and encryption with RSA.

const { lazyStream } = require("internal/crypto/lazy_stream");
const { StringDecoder } = require("string_decoder");
const { Buffer, codes, crypto, digestName, give, isView, toBytes } = require("internal/crypto/util");
const { prepareAsymmetricKey, prepareSecretKey } = require("internal/crypto/keys");
const { constants } = require("internal/crypto/constants");
const { validateEncoding, validateInt32, validateObject, validateString, validateUint32 } = require("internal/validators");

const LazyTransform = lazyStream("Transform");
const kState = Symbol("kState");
const kDecoder = Symbol("kDecoder");
const kFinished = Symbol("kFinished");

const { ERR_CRYPTO_INVALID_STATE, ERR_INVALID_ARG_TYPE, ERR_INVALID_ARG_VALUE, ERR_CRYPTO_UNKNOWN_CIPHER } = codes;

function tagLength(options) {
  const bytes = options === undefined || options === null ? undefined : options.authTagLength;
  if (bytes === undefined || bytes === null) return undefined;
  if (typeof bytes !== "number" || bytes !== bytes >>> 0 || bytes > 0x7fffffff) {
    throw new ERR_INVALID_ARG_VALUE("options.authTagLength", bytes);
  }
  return bytes;
}

function init(self, encrypts, cipher, key, iv, options) {
  validateString(cipher, "cipher");
  const handle = prepareSecretKey(key, options?.encoding);
  const vector = iv === null ? undefined : toBytes(iv, "iv", undefined, ["string", "ArrayBuffer", "Buffer", "TypedArray", "DataView"]);
  const bytes = tagLength(options);
  if (crypto.info("cipher", cipher) === undefined) throw new ERR_CRYPTO_UNKNOWN_CIPHER();
  self[kState] = crypto.createCipher(cipher, encrypts, handle, vector, bytes);
  self[kFinished] = false;
  self[kDecoder] = undefined;
  LazyTransform.call(self, options);
}

function Cipheriv(cipher, key, iv, options) {
  if (!new.target) return new Cipheriv(cipher, key, iv, options);
  init(this, true, cipher, key, iv, options);
}

function Decipheriv(cipher, key, iv, options) {
  if (!new.target) return new Decipheriv(cipher, key, iv, options);
  init(this, false, cipher, key, iv, options);
}

/** Text is decoded across the pieces. */
function decoded(self, encoding, bytes, end) {
  if (!Buffer.isEncoding(encoding)) throw new codes.ERR_UNKNOWN_ENCODING(encoding);
  if (self[kDecoder] === undefined) self[kDecoder] = new StringDecoder(encoding);
  else if (self[kDecoder].encoding !== new StringDecoder(encoding).encoding) {
    throw new ERR_INVALID_ARG_VALUE("outputEncoding", encoding, `cannot be changed from '${self[kDecoder].encoding}'`);
  }
  return end ? self[kDecoder].end(bytes) : self[kDecoder].write(bytes);
}

const isText = (encoding) => encoding !== undefined && encoding !== null && encoding !== "buffer";

const methods = {
  _transform(chunk, encoding, callback) {
    this.push(this.update(chunk, encoding));
    callback();
  },
  _flush(callback) {
    try {
      this.push(this.final());
    } catch (error) {
      callback(error);
      return;
    }
    callback();
  },
  update(data, inputEncoding, outputEncoding) {
    if (typeof data === "string") validateEncoding(data, inputEncoding);
    else if (!isView(data)) throw new ERR_INVALID_ARG_TYPE("data", ["string", "Buffer", "TypedArray", "DataView"], data);
    if (this[kFinished]) throw new ERR_CRYPTO_INVALID_STATE("update");
    const result = give(crypto.update(this[kState], toBytes(data, "data", inputEncoding)));
    return isText(outputEncoding) ? decoded(this, outputEncoding, result, false) : result;
  },
  final(outputEncoding) {
    if (this[kFinished]) throw new ERR_CRYPTO_INVALID_STATE("final");
    this[kFinished] = true;
    const result = give(crypto.call(this[kState], "finish"));
    return isText(outputEncoding) ? decoded(this, outputEncoding, result, true) : result;
  },
  setAutoPadding(on) {
    if (this[kFinished]) throw new ERR_CRYPTO_INVALID_STATE("setAutoPadding");
    crypto.call(this[kState], "padding", on === undefined ? true : Boolean(on));
    return this;
  },
  setAAD(data, options) {
    const bytes = toBytes(data, "aadbuf", options?.encoding);
    const length = options?.plaintextLength;
    if (length !== undefined && (typeof length !== "number" || length !== length >>> 0 || length > 0x7fffffff)) {
      throw new ERR_INVALID_ARG_VALUE("options.plaintextLength", length);
    }
    if (this[kFinished] || !crypto.call(this[kState], "aad", bytes, length)) throw new ERR_CRYPTO_INVALID_STATE("setAAD");
    return this;
  },
};

for (const Class of [Cipheriv, Decipheriv]) {
  Object.setPrototypeOf(Class.prototype, LazyTransform.prototype);
  Object.setPrototypeOf(Class, LazyTransform);
  for (const key of [kState, kDecoder, kFinished]) Class.prototype[key] = undefined;
  for (const name of Object.keys(methods)) {
    Object.defineProperty(Class.prototype, name, { __proto__: null, value: methods[name], writable: true, enumerable: true, configurable: true });
  }
}

Cipheriv.prototype.getAuthTag = function getAuthTag() {
  const tag = crypto.call(this[kState], "tag");
  if (tag === undefined) throw new ERR_CRYPTO_INVALID_STATE("getAuthTag");
  return give(tag);
};

Decipheriv.prototype.setAuthTag = function setAuthTag(tag, encoding) {
  const bytes = toBytes(tag, "buffer", encoding);
  if (this[kFinished] || !crypto.call(this[kState], "set-tag", bytes)) throw new ERR_CRYPTO_INVALID_STATE("setAuthTag");
  return this;
};

// ---- RSA

function rsaCipher(usage, isPrivate, defaultPadding) {
  return function (options, buffer) {
    const padding = options?.padding || defaultPadding;
    const { oaepHash, encoding } = options ?? {};
    let { oaepLabel } = options ?? {};
    if (oaepHash !== undefined) {
      validateString(oaepHash, "key.oaepHash");
      if (crypto.info("digest", digestName(oaepHash)) === undefined) {
        throw Object.assign(new Error("error:03000098:digital envelope routines::invalid digest"), {
          library: "digital envelope routines", reason: "invalid digest", code: "ERR_OSSL_EVP_INVALID_DIGEST",
        });
      }
    }
    if (oaepLabel !== undefined) oaepLabel = toBytes(oaepLabel, "key.oaepLabel", encoding);
    const { handle } = prepareAsymmetricKey(options, isPrivate ? "private" : "public", "key", true);
    const data = toBytes(buffer, "buffer", encoding);
    return give(crypto.runSync("rsa", [handle], [usage, padding, oaepHash === undefined ? undefined : digestName(oaepHash), oaepLabel, data]));
  };
}

const publicEncrypt = rsaCipher(0, false, constants.RSA_PKCS1_OAEP_PADDING);
const privateDecrypt = rsaCipher(1, true, constants.RSA_PKCS1_OAEP_PADDING);
const privateEncrypt = rsaCipher(2, true, constants.RSA_PKCS1_PADDING);
const publicDecrypt = rsaCipher(3, false, constants.RSA_PKCS1_PADDING);

// ---- What is known

function getCipherInfo(nameOrNid, options) {
  if (typeof nameOrNid !== "string" && typeof nameOrNid !== "number") {
    throw new ERR_INVALID_ARG_TYPE("nameOrNid", ["string", "number"], nameOrNid);
  }
  if (typeof nameOrNid === "number") validateInt32(nameOrNid, "nameOrNid");
  let keyLength;
  let ivLength;
  if (options !== undefined) {
    validateObject(options, "options");
    ({ keyLength, ivLength } = options);
    if (keyLength !== undefined) validateUint32(keyLength, "options.keyLength");
    if (ivLength !== undefined) validateUint32(ivLength, "options.ivLength");
  }
  let name = nameOrNid;
  if (typeof name === "number") {
    name = crypto.info("ciphers").find((known) => crypto.info("cipher", known)[1] === nameOrNid);
    if (name === undefined) return undefined;
  }
  const found = crypto.info("cipher", name);
  if (found === undefined) return undefined;
  const [mode, nid, blockSize, iv, key, known] = found;
  if (keyLength !== undefined && keyLength !== key) return undefined;
  let ivBytes = iv;
  if (ivLength !== undefined) {
    const ok = mode === "ccm" ? ivLength >= 7 && ivLength <= 13
      : mode === "ocb" ? ivLength >= 1 && ivLength <= 15
        : mode === "gcm" ? ivLength >= 1
          : /poly1305/i.test(name) ? ivLength >= 1 && ivLength <= 12 : ivLength === iv;
    if (!ok) return undefined;
    ivBytes = ivLength;
  }
  const info = { __proto__: null, mode, name: known ?? name.toLowerCase(), nid };
  if (mode !== "stream" && blockSize !== 1) info.blockSize = blockSize;
  if (ivBytes !== 0) info.ivLength = ivBytes;
  info.keyLength = key;
  return info;
}

module.exports = { Cipheriv, Decipheriv, getCipherInfo, privateDecrypt, privateEncrypt, publicDecrypt, publicEncrypt };
