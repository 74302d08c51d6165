// @ts-check
"use strict";
// Keys that are secrets: AES, ChaCha20-Poly1305, HMAC, HKDF, PBKDF2 (https://w3c.github.io/webcrypto/#algorithms). Each
// algorithm is an object with the operations that `subtle.js` calls; what they return may be a promise.

const {
  ArrayBuffer, ArrayBufferPrototypeGetByteLength, TypeError, TypedArrayPrototypeGetByteLength, Uint8Array,
} = require("primordials");
const { DOMException } = require("dom/exception");
const { createKey, has } = require("crypto/key");
const jwk = require("crypto/jwk");
const { currentRequest } = require("request_scope");
const {
  op_crypto_key_export, op_crypto_key_export_jwk, op_crypto_key_import_jwk, op_crypto_key_secret, op_crypto_random,
  op_crypto_run,
} = require("ops");

const run = (name, ...values) => op_crypto_run(currentRequest(), name, values);

function operationError(problem) {
  return new DOMException(problem, "OperationError");
}

/** Throws where a usage is not one of the algorithm's. */
function checkUsages(usages, allowed, prefix) {
  for (let i = 0; i < usages.length; i++) {
    if (!has(allowed, usages[i])) throw new DOMException(`${prefix}: The algorithm has no usage '${usages[i]}'`, "SyntaxError");
  }
}

function notThisFormat(format, prefix) {
  return new DOMException(`${prefix}: The algorithm has no key format '${format}'`, "NotSupportedError");
}

function isRaw(format) {
  return format === "raw" || format === "raw-secret";
}

/** The native gives so many bytes at once and no more. */
const RANDOM_BYTES = 65536;

function generated(bits) {
  const bytes = (bits + 7) >> 3;
  const buffer = new ArrayBuffer(bytes);
  for (let at = 0; at < bytes; at += RANDOM_BYTES) {
    op_crypto_random(new Uint8Array(buffer, at, bytes - at < RANDOM_BYTES ? bytes - at : RANDOM_BYTES));
  }
  return op_crypto_key_secret(new Uint8Array(buffer));
}

/** A secret from the app, as a handle, and how many bytes it has. */
function imported(format, data) {
  if (format !== "jwk") {
    return { __proto__: null, handle: op_crypto_key_secret(data), bytes: TypedArrayPrototypeGetByteLength(data) };
  }
  const handle = op_crypto_key_import_jwk("oct", jwk.materialOf(data));
  return { __proto__: null, handle, bytes: ArrayBufferPrototypeGetByteLength(op_crypto_key_export(handle, "raw")) };
}

function exported(key, format, alg, prefix) {
  if (isRaw(format)) return op_crypto_key_export(key.handle, "raw");
  if (format === "jwk") return jwk.create(["kty", "oct", "alg", alg], op_crypto_key_export_jwk(key.handle), key);
  throw notThisFormat(format, prefix);
}

/** AES in a mode, or ChaCha20-Poly1305. */
function cipher(name, usages, suffix, rawFormat, operations) {
  const chacha = suffix === undefined;
  const algOf = (bits) => (chacha ? "C20P" : `A${bits}${suffix}`);
  const checkBits = (bits) => {
    if (bits !== 128 && bits !== 192 && bits !== 256) throw operationError("An AES key has 128, 192 or 256 bits");
    return bits;
  };
  return {
    __proto__: null,
    usages,
    keyLength: ({ length }) => (chacha ? 256 : checkBits(length)),
    generateKey({ length }, extractable, wanted, prefix) {
      checkUsages(wanted, usages, prefix);
      const bits = chacha ? 256 : checkBits(length);
      return createKey("secret", extractable, { __proto__: null, name, length: chacha ? undefined : bits }, wanted, generated(bits));
    },
    importKey(_, format, data, extractable, wanted, prefix) {
      checkUsages(wanted, usages, prefix);
      if (format !== "jwk" && !(rawFormat === "raw" ? isRaw(format) : format === rawFormat)) throw notThisFormat(format, prefix);
      if (format === "jwk") jwk.check(data, "oct", "enc", extractable, wanted, prefix);
      const { handle, bytes } = imported(format, data);
      const bits = bytes * 8;
      if (bits !== 256 && (chacha || (bits !== 128 && bits !== 192))) {
        throw jwk.dataError(prefix, chacha ? "The key has 256 bits" : "An AES key has 128, 192 or 256 bits");
      }
      if (format === "jwk" && data.alg !== undefined && data.alg !== algOf(bits)) {
        throw jwk.dataError(prefix, `The key's member "alg" must be "${algOf(bits)}"`);
      }
      return createKey("secret", extractable, { __proto__: null, name, length: chacha ? undefined : bits }, wanted, handle);
    },
    exportKey(key, format, prefix) {
      if (rawFormat !== "raw" && format === "raw") throw notThisFormat(format, prefix);
      return exported(key, format, algOf(key.algorithm.length), prefix);
    },
    ...operations,
  };
}

const CIPHER = ["encrypt", "decrypt", "wrapKey", "unwrapKey"];

function tagBytes({ tagLength = 128 }, allowed) {
  if (!has(allowed, tagLength)) throw operationError(`A tag of ${tagLength} bits is not allowed`);
  return tagLength / 8;
}

const aead = (name, tags) => {
  const one = (operation) => (algorithm, key, data) =>
    run(`${name}-${operation}`, key.handle, data, algorithm.iv, tagBytes(algorithm, tags), algorithm.additionalData);
  return { __proto__: null, encrypt: one("encrypt"), decrypt: one("decrypt") };
};

function checkLength(vector, bytes) {
  if (TypedArrayPrototypeGetByteLength(vector) !== bytes) throw operationError(`The vector has ${bytes} bytes`);
}

const ctr = (algorithm, key, data) => {
  checkLength(algorithm.counter, 16);
  if (algorithm.length < 1 || algorithm.length > 128) throw operationError("The counter has a length of 1 to 128 bits");
  return run("ctr", key.handle, data, algorithm.counter, algorithm.length);
};

const CBC = {
  __proto__: null,
  encrypt(algorithm, key, data) {
    checkLength(algorithm.iv, 16);
    return run("cbc-encrypt", key.handle, data, algorithm.iv);
  },
  decrypt(algorithm, key, data) {
    checkLength(algorithm.iv, 16);
    return run("cbc-decrypt", key.handle, data, algorithm.iv);
  },
};

const KW = {
  __proto__: null,
  wrapKey: (_, key, data) => run("wrap", key.handle, data),
  unwrapKey: (_, key, data) => run("unwrap", key.handle, data),
};

// ---- HMAC

const BLOCK_BITS = {
  __proto__: null,
  "SHA-1": 512, "SHA-256": 512, "SHA-384": 1024, "SHA-512": 1024, "SHA3-256": 1088, "SHA3-384": 832, "SHA3-512": 576,
};
const HMAC_ALG = { __proto__: null, "SHA-1": "HS1", "SHA-256": "HS256", "SHA-384": "HS384", "SHA-512": "HS512" };

const hmac = {
  __proto__: null,
  usages: ["sign", "verify"],
  keyLength({ length, hash }) {
    if (length === 0) throw new TypeError("The length of an HMAC key must not be 0");
    return length === undefined ? BLOCK_BITS[hash] : length;
  },
  generateKey({ length, hash }, extractable, wanted, prefix) {
    checkUsages(wanted, hmac.usages, prefix);
    if (length === 0) throw operationError("The length of an HMAC key must not be 0");
    const bits = length === undefined ? BLOCK_BITS[hash] : length;
    return createKey("secret", extractable, { __proto__: null, name: "HMAC", hash, length: bits }, wanted, generated(bits));
  },
  importKey({ length, hash }, format, data, extractable, wanted, prefix) {
    checkUsages(wanted, hmac.usages, prefix);
    if (format !== "jwk" && !isRaw(format)) throw notThisFormat(format, prefix);
    if (format === "jwk") {
      jwk.check(data, "oct", "sig", extractable, wanted, prefix);
      if (data.alg !== undefined && data.alg !== HMAC_ALG[hash]) {
        throw jwk.dataError(prefix, `The key's member "alg" must be "${HMAC_ALG[hash]}"`);
      }
    }
    const { handle, bytes } = imported(format, data);
    if (bytes === 0) throw jwk.dataError(prefix, "An HMAC key must not be empty");
    if (length !== undefined && (length > bytes * 8 || length <= bytes * 8 - 8)) {
      throw jwk.dataError(prefix, `The key has ${bytes * 8} bits, not ${length}`);
    }
    const bits = length === undefined ? bytes * 8 : length;
    return createKey("secret", extractable, { __proto__: null, name: "HMAC", hash, length: bits }, wanted, handle);
  },
  exportKey: (key, format, prefix) => exported(key, format, HMAC_ALG[key.algorithm.hash], prefix),
  sign: (_, key, data) => run("hmac", key.handle, key.algorithm.hash, data),
  verify: (_, key, signature, data) => run("hmac-verify", key.handle, key.algorithm.hash, data, signature),
};

// ---- Derivation

function derivation(name, deriveBits) {
  const usages = ["deriveKey", "deriveBits"];
  return {
    __proto__: null,
    usages,
    keyLength: () => null,
    importKey(_, format, data, extractable, wanted, prefix) {
      if (!isRaw(format)) throw notThisFormat(format, prefix);
      checkUsages(wanted, usages, prefix);
      if (extractable) throw new DOMException(`${prefix}: A key of ${name} is not extractable`, "SyntaxError");
      return createKey("secret", false, { __proto__: null, name }, wanted, op_crypto_key_secret(data));
    },
    deriveBits(algorithm, key, length) {
      if (length === null || length % 8 !== 0) throw operationError("The length must be a multiple of 8");
      return deriveBits(algorithm, key, length / 8);
    },
  };
}

/** @type {Record<string, any>} */
const secrets = {
  __proto__: /** @type {any} */ (null),
  "AES-CBC": cipher("AES-CBC", CIPHER, "CBC", "raw", CBC),
  "AES-CTR": cipher("AES-CTR", CIPHER, "CTR", "raw", { __proto__: null, encrypt: ctr, decrypt: ctr }),
  "AES-GCM": cipher("AES-GCM", CIPHER, "GCM", "raw", aead("gcm", [32, 64, 96, 104, 112, 120, 128])),
  "AES-OCB": cipher("AES-OCB", CIPHER, "OCB", "raw-secret", aead("ocb", [64, 96, 128])),
  "AES-KW": cipher("AES-KW", ["wrapKey", "unwrapKey"], "KW", "raw", KW),
  "ChaCha20-Poly1305": cipher("ChaCha20-Poly1305", CIPHER, undefined, "raw-secret", aead("chacha20-poly1305", [128])),
  "HMAC": hmac,
  "HKDF": derivation("HKDF", ({ hash, salt, info }, key, bytes) => run("hkdf", key.handle, hash, salt, info, bytes)),
  "PBKDF2": derivation("PBKDF2", ({ hash, salt, iterations }, key, bytes) => {
    if (iterations === 0) throw operationError("PBKDF2 needs at least one iteration");
    return run("pbkdf2", key.handle, hash, salt, iterations, bytes);
  }),
};

module.exports = { secrets, run, checkUsages, notThisFormat, operationError };
