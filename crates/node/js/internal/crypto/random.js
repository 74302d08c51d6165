"use strict";
// Randomness and primes (https://nodejs.org/api/crypto.html#cryptorandombytessize-callback).

const { Buffer, bytesOf, codes, crypto, give, isBytes, native, runEither, toBytes } = require("internal/crypto/util");
const { validateBoolean, validateFunction, validateInt32, validateNumber, validateObject } = require("internal/validators");

const { ERR_INVALID_ARG_TYPE, ERR_OUT_OF_RANGE } = codes;
const MAX_BYTES = 0x7fffffff;

function checkSize(size, elementSize, offset, length) {
  validateNumber(size, "size");
  size *= elementSize;
  if (Number.isNaN(size) || size > MAX_BYTES || size < 0) throw new ERR_OUT_OF_RANGE("size", `>= 0 && <= ${MAX_BYTES}`, size);
  if (size + offset > length) throw new ERR_OUT_OF_RANGE("size + offset", `<= ${length}`, size + offset);
  return size >>> 0;
}

function checkOffset(offset, elementSize, length) {
  validateNumber(offset, "offset");
  offset *= elementSize;
  const max = Math.min(length, MAX_BYTES);
  if (Number.isNaN(offset) || offset > max || offset < 0) throw new ERR_OUT_OF_RANGE("offset", `>= 0 && <= ${max}`, offset);
  return offset >>> 0;
}

function randomBytes(size, callback) {
  size = checkSize(size, 1, 0, Infinity);
  if (callback !== undefined) validateFunction(callback, "callback");
  const bytes = Buffer.alloc(size);
  if (callback === undefined) {
    crypto.random(bytes);
    return bytes;
  }
  randomFill(bytes, (error) => callback(error, error ? undefined : bytes));
  return undefined;
}

function part(buffer, offset, size) {
  if (!isBytes(buffer)) throw new ERR_INVALID_ARG_TYPE("buf", ["ArrayBuffer", "ArrayBufferView"], buffer);
  const elementSize = buffer.BYTES_PER_ELEMENT || 1;
  offset = checkOffset(offset === undefined ? 0 : offset, elementSize, buffer.byteLength);
  size = size === undefined ? buffer.byteLength - offset : checkSize(size, elementSize, offset, buffer.byteLength);
  return bytesOf(buffer).subarray(offset, offset + size);
}

function randomFillSync(buffer, offset = 0, size = undefined) {
  const bytes = part(buffer, offset, size);
  if (bytes.byteLength > 0) crypto.random(bytes);
  return buffer;
}

function randomFill(buffer, offset, size, callback) {
  if (!isBytes(buffer)) throw new ERR_INVALID_ARG_TYPE("buf", ["ArrayBuffer", "ArrayBufferView"], buffer);
  if (typeof offset === "function") {
    callback = offset;
    offset = 0;
    size = undefined;
  } else if (typeof size === "function") {
    callback = size;
    size = undefined;
  } else {
    validateFunction(callback, "callback");
  }
  const bytes = part(buffer, offset, size);
  setTimeout(() => {
    crypto.random(bytes);
    callback(null, buffer);
  }, 0);
}

const RANGE = 2 ** 48 - 1;

function randomInt(min, max, callback) {
  const short = max === undefined || typeof max === "function";
  if (short) {
    callback = max;
    max = min;
    min = 0;
  }
  if (callback !== undefined) validateFunction(callback, "callback");
  if (!Number.isSafeInteger(min)) throw new ERR_INVALID_ARG_TYPE("min", "a safe integer", min);
  if (!Number.isSafeInteger(max)) throw new ERR_INVALID_ARG_TYPE("max", "a safe integer", max);
  if (max <= min) throw new ERR_OUT_OF_RANGE("max", `greater than the value of "min" (${min})`, max);
  const range = max - min;
  if (!(range <= RANGE)) throw new ERR_OUT_OF_RANGE(short ? "max" : "max - min", `<= ${RANGE}`, range);
  const limit = 2 ** 48 - (2 ** 48 % range);
  const bytes = Buffer.alloc(6);
  let number;
  do {
    crypto.random(bytes);
    number = bytes.readUIntBE(0, 6);
  } while (number >= limit);
  const result = (number % range) + min;
  if (callback === undefined) return result;
  setTimeout(callback, 0, null, result);
  return undefined;
}

function checkOptions(options) {
  if (options !== undefined) validateObject(options, "options");
  const { disableEntropyCache = false } = options ?? {};
  validateBoolean(disableEntropyCache, "options.disableEntropyCache");
}

function randomUUID(options) {
  checkOptions(options);
  return native.randomUUID();
}

/** RFC 9562, version 7: the time in milliseconds, then randomness. */
function randomUUIDv7(options) {
  checkOptions(options);
  const bytes = Buffer.alloc(16);
  crypto.random(bytes);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = (bytes[6] & 0x0f) | 0x70;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

// ---- Primes

function numberBytes(value, name) {
  if (typeof value === "bigint") {
    if (value < 0n) throw new ERR_OUT_OF_RANGE(name, ">= 0", value);
    const hex = value.toString(16);
    return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
  }
  if (!isBytes(value)) throw new ERR_INVALID_ARG_TYPE(name, ["ArrayBuffer", "TypedArray", "Buffer", "DataView", "bigint"], value);
  return toBytes(value, name);
}

function primeValues(size, options) {
  validateInt32(size, "size", 1);
  validateObject(options, "options");
  const { safe = false, bigint = false } = options;
  let { add, rem } = options;
  validateBoolean(safe, "options.safe");
  validateBoolean(bigint, "options.bigint");
  if (add !== undefined) add = numberBytes(add, "options.add");
  if (rem !== undefined) rem = numberBytes(rem, "options.rem");
  const convert = (prime) => (bigint ? BigInt(`0x${give(prime, "hex")}`) : prime);
  return { values: [size, safe, add, rem], convert };
}

function generatePrime(size, options, callback) {
  if (typeof options === "function") {
    callback = options;
    options = {};
  }
  validateFunction(callback, "callback");
  const { values, convert } = primeValues(size, options ?? {});
  runEither("prime", [], values, convert, callback);
}

function generatePrimeSync(size, options = {}) {
  const { values, convert } = primeValues(size, options);
  return runEither("prime", [], values, convert, undefined);
}

/** The longest number of OpenSSL. */
const MAX_NUMBER_BYTES = 67108856;

function checkValues(candidate, options) {
  const bytes = numberBytes(candidate, "candidate");
  if (bytes.byteLength > MAX_NUMBER_BYTES) {
    throw Object.assign(new Error("error:01800072:bignum routines::bignum too long"), {
      library: "bignum routines", reason: "bignum too long", code: "ERR_OSSL_BN_BIGNUM_TOO_LONG",
    });
  }
  validateObject(options, "options");
  const { checks = 0 } = options;
  validateInt32(checks, "options.checks", 0);
  return [bytes, checks];
}

function checkPrime(candidate, options, callback) {
  if (typeof options === "function") {
    callback = options;
    options = {};
  }
  const values = checkValues(candidate, options ?? {});
  validateFunction(callback, "callback");
  runEither("check-prime", [], values, (verdict) => verdict, callback);
}

function checkPrimeSync(candidate, options = {}) {
  return runEither("check-prime", [], checkValues(candidate, options), (verdict) => verdict, undefined);
}

function timingSafeEqual(one, other) {
  for (const [name, value] of [["buf1", one], ["buf2", other]]) {
    if (!isBytes(value)) throw new ERR_INVALID_ARG_TYPE(name, ["ArrayBuffer", "Buffer", "TypedArray", "DataView"], value);
  }
  if (one.byteLength !== other.byteLength) throw new codes.ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH();
  return native.equal(bytesOf(one), bytesOf(other));
}

module.exports = {
  checkPrime, checkPrimeSync, generatePrime, generatePrimeSync, randomBytes, randomFill, randomFillSync, randomInt,
  randomUUID, randomUUIDv7, timingSafeEqual,
};
