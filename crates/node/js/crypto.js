"use strict";
// node:crypto (https://nodejs.org/api/crypto.html), over OpenSSL. The parts are in internal/crypto.
//
// Deviations: DSA keys have the divisor that OpenSSL chooses; encapsulation and engines are not there; there is no secure heap
// and no FIPS mode. What would take more than the app's CPU or memory limit is refused with an error.

const { codes, crypto, deprecated, native } = require("internal/crypto/util");
const { constants } = require("internal/crypto/constants");
const { Hash, Hmac, hash } = require("internal/crypto/hash");
const { KeyObject, createPrivateKey, createPublicKey, createSecretKey } = require("internal/crypto/keys");
const random = require("internal/crypto/random");

const { webcrypto } = native;

/** A part that is loaded when one of its functions is first asked for. */
function later(file, names) {
  for (const name of names) {
    Object.defineProperty(module.exports, name, {
      __proto__: null,
      get() {
        const value = require(file)[name];
        Object.defineProperty(module.exports, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
        return value;
      },
      set(value) {
        Object.defineProperty(module.exports, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
      },
      enumerable: true,
      configurable: true,
    });
  }
}

function named(what) {
  let names;
  return () => [...(names ??= crypto.info(what))];
}

function unavailable(name, why) {
  return () => { throw Object.assign(new Error(`crypto.${name} is not available in Hearth: ${why}`), { code: "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM" }); };
}

module.exports = {
  Hash, Hmac, KeyObject, constants, createPrivateKey, createPublicKey, createSecretKey, hash, ...random,
  createHash: (algorithm, options) => new Hash(algorithm, options),
  createHmac: (algorithm, key, options) => new Hmac(algorithm, key, options),
  createCipheriv: (cipher, key, iv, options) => new module.exports.Cipheriv(cipher, key, iv, options),
  createDecipheriv: (cipher, key, iv, options) => new module.exports.Decipheriv(cipher, key, iv, options),
  createSign: (algorithm, options) => new module.exports.Sign(algorithm, options),
  createVerify: (algorithm, options) => new module.exports.Verify(algorithm, options),
  createDiffieHellman: (size, keyEncoding, generator, encoding) => new module.exports.DiffieHellman(size, keyEncoding, generator, encoding),
  createDiffieHellmanGroup: (name) => new module.exports.DiffieHellmanGroup(name),
  createECDH: (curve) => new module.exports.ECDH(curve),
  getCiphers: named("ciphers"),
  getCurves: named("curves"),
  getHashes: named("hashes"),
  getFips: () => 0,
  setFips(on) { if (on) throw new codes.ERR_CRYPTO_FIPS_UNAVAILABLE(); },
  secureHeapUsed: () => undefined,
  setEngine() {
    deprecated("DEP0183", "OpenSSL engine-based APIs are deprecated.");
    throw new codes.ERR_CRYPTO_CUSTOM_ENGINE_NOT_SUPPORTED();
  },
  encapsulate: unavailable("encapsulate", "use diffieHellman() with x25519 keys"),
  decapsulate: unavailable("decapsulate", "use diffieHellman() with x25519 keys"),
  getRandomValues: (array) => webcrypto.getRandomValues(array),
  webcrypto,
  get subtle() { return webcrypto.subtle; },
  get fips() { return 0; },
  set fips(on) { module.exports.setFips(on); },
};

later("internal/crypto/cipher", ["Cipheriv", "Decipheriv", "getCipherInfo", "privateDecrypt", "privateEncrypt", "publicDecrypt", "publicEncrypt"]);
later("internal/crypto/kdf", ["argon2", "argon2Sync", "hkdf", "hkdfSync", "pbkdf2", "pbkdf2Sync", "scrypt", "scryptSync"]);
later("internal/crypto/sig", ["Sign", "Verify"]);
later("internal/crypto/keygen", ["generateKey", "generateKeyPair", "generateKeyPairSync", "generateKeySync"]);
later("internal/crypto/dh", ["DiffieHellman", "DiffieHellmanGroup", "ECDH", "diffieHellman", "getDiffieHellman"]);
later("internal/crypto/x509", ["X509Certificate"]);
later("internal/crypto/certificate", ["Certificate"]);
for (const name of ["prng", "pseudoRandomBytes", "rng"]) {
  Object.defineProperty(module.exports, name, { __proto__: null, value: random.randomBytes, writable: true, configurable: true });
}
Object.assign(module.exports, {
  sign: (...values) => require("internal/crypto/sig").signOneShot(...values),
  verify: (...values) => require("internal/crypto/sig").verifyOneShot(...values),
});
