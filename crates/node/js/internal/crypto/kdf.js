"use strict";
// Keys from passwords: scrypt, pbkdf2, hkdf, argon2 (https://nodejs.org/api/crypto.html#cryptoscryptpassword-salt-keylen-options-callback).
// What would take more than the app's CPU limit or memory limit is refused.

const { checkDigest, codes, coded, crypto, give, runAsync, toBytes } = require("internal/crypto/util");
const { handleOfKey } = require("internal/crypto/keys");
const {
  validateFunction, validateInt32, validateInteger, validateObject, validateOneOf, validateString, validateUint32,
} = require("internal/validators");

const MAX_BYTES = 0x7fffffff;

function checkScrypt(password, salt, keylen, options) {
  password = toBytes(password, "password");
  salt = toBytes(salt, "salt");
  validateInt32(keylen, "keylen", 0);
  let N = 16384;
  let r = 8;
  let p = 1;
  let maxmem = 32 << 20;
  if (options && options !== undefined) {
    const pick = (short, long, fallback) => {
      // Each is read once: getters can give something else the next time.
      const [given, alias] = [options[short], options[long]];
      if (given !== undefined && alias !== undefined) throw new codes.ERR_INCOMPATIBLE_OPTION_PAIR(short, long);
      if (given !== undefined) validateUint32(given, short);
      if (alias !== undefined) validateUint32(alias, long);
      return (given ?? alias) || fallback;
    };
    N = pick("N", "cost", N);
    r = pick("r", "blockSize", r);
    p = pick("p", "parallelization", p);
    const given = options.maxmem;
    if (given !== undefined) {
      validateInteger(given, "maxmem", 0);
      maxmem = given || maxmem;
    }
  }
  // OpenSSL's own rule for N.
  const largest = r > 3 ? Infinity : 2 ** (16 * r);
  const wrong = (why) => coded("ERR_CRYPTO_INVALID_SCRYPT_PARAMS", `Invalid scrypt params${why}`);
  const fail = (why) => Object.setPrototypeOf(wrong(why), RangeError.prototype);
  if (N < 2 || (N & (N - 1)) !== 0) throw fail("");
  if (N >= largest || p * r > 0x3fffffff || 128 * N * r + 128 * r * p + 32 * r * 4 > maxmem) throw fail(": memory limit exceeded");
  return [password, salt, keylen, N, r, p, Math.max(maxmem, 128 * r * (N + p + 2))];
}

function scrypt(password, salt, keylen, options, callback = undefined) {
  if (callback === undefined) {
    callback = options;
    options = undefined;
  }
  const values = checkScrypt(password, salt, keylen, options);
  runAsync("scrypt", [], values, give, callback);
}

function scryptSync(password, salt, keylen, options) {
  return give(crypto.runSync("scrypt", [], checkScrypt(password, salt, keylen, options)));
}

function checkPbkdf2(password, salt, iterations, keylen, digest) {
  validateString(digest, "digest");
  password = toBytes(password, "password");
  salt = toBytes(salt, "salt");
  validateInt32(iterations, "iterations", 1);
  validateInt32(keylen, "keylen", 0);
  checkDigest(digest);
  return [password, salt, keylen, digest, iterations];
}

function pbkdf2(password, salt, iterations, keylen, digest, callback) {
  if (typeof digest === "function") {
    callback = digest;
    digest = undefined;
  }
  const values = checkPbkdf2(password, salt, iterations, keylen, digest);
  runAsync("pbkdf2", [], values, give, callback);
}

function pbkdf2Sync(password, salt, iterations, keylen, digest) {
  return give(crypto.runSync("pbkdf2", [], checkPbkdf2(password, salt, iterations, keylen, digest)));
}

const ACCEPTED = ["ArrayBuffer", "TypedArray", "DataView", "Buffer", "string", "SecretKeyObject", "CryptoKey"];

function checkHkdf(digest, key, salt, info, length) {
  validateString(digest, "digest");
  const secret = handleOfKey(key);
  const bytes = secret === undefined ? toBytes(key, "ikm", undefined, ACCEPTED) : new Uint8Array(crypto.secretBytes(secret));
  salt = toBytes(salt, "salt");
  info = toBytes(info, "info");
  validateInteger(length, "length", 0, MAX_BYTES);
  if (info.byteLength > 1024) {
    throw Object.assign(new codes.ERR_OUT_OF_RANGE("info", "must not contain more than 1024 bytes", info.byteLength));
  }
  checkDigest(digest);
  if (length > 255 * crypto.info("digest", digest)) throw coded("ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length");
  return [bytes, salt, length, digest, info];
}

const giveBuffer = (buffer) => buffer;

function hkdf(digest, key, salt, info, length, callback) {
  const values = checkHkdf(digest, key, salt, info, length);
  runAsync("hkdf", [], values, giveBuffer, callback);
}

function hkdfSync(digest, key, salt, info, length) {
  return crypto.runSync("hkdf", [], checkHkdf(digest, key, salt, info, length));
}

function checkArgon2(algorithm, parameters) {
  validateString(algorithm, "algorithm");
  validateOneOf(algorithm, "algorithm", ["argon2d", "argon2i", "argon2id"]);
  validateObject(parameters, "parameters");
  const { parallelism, tagLength, memory, passes } = parameters;
  const bytes = (name, required) => {
    const value = parameters[name];
    if (!required && value === undefined) return undefined;
    return toBytes(value, `parameters.${name}`);
  };
  const message = bytes("message", true);
  const nonce = bytes("nonce", true);
  if (nonce.byteLength < 8) {
    throw new codes.ERR_OUT_OF_RANGE("parameters.nonce.byteLength", ">= 8 && <= 4294967295", nonce.byteLength);
  }
  validateInteger(parallelism, "parameters.parallelism", 1, 2 ** 24 - 1);
  validateInteger(tagLength, "parameters.tagLength", 4, 2 ** 32 - 1);
  validateInteger(memory, "parameters.memory", 8 * parallelism, 2 ** 32 - 1);
  validateInteger(passes, "parameters.passes", 1, 2 ** 32 - 1);
  return [message, nonce, tagLength, algorithm, bytes("secret", false), bytes("associatedData", false), passes, parallelism, memory];
}

function argon2(algorithm, parameters, callback) {
  const values = checkArgon2(algorithm, parameters);
  validateFunction(callback, "callback");
  runAsync("argon2", [], values, give, callback);
}

function argon2Sync(algorithm, parameters) {
  return give(crypto.runSync("argon2", [], checkArgon2(algorithm, parameters)));
}

module.exports = { argon2, argon2Sync, hkdf, hkdfSync, pbkdf2, pbkdf2Sync, scrypt, scryptSync };
