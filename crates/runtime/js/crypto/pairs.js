// @ts-check
"use strict";
// Key pairs: RSA, elliptic curves, octet key pairs (https://w3c.github.io/webcrypto/#algorithms,
// https://wicg.github.io/webcrypto-secure-curves/). Each algorithm is an object with the operations that `subtle.js` calls;
// what they return may be a promise. RSA keys may be generated on another thread.

const {
  ArrayIsArray, MathCeil, PromisePrototypeThen, TypedArrayPrototypeGetByteLength, Uint8Array,
} = require("primordials");
const { DOMException } = require("dom/exception");
const { createKey, define, has, normalizeUsages, slotsOf } = require("crypto/key");
const jwk = require("crypto/jwk");
const { checkUsages, notThisFormat, operationError, run } = require("crypto/secrets");
const {
  op_crypto_key_export, op_crypto_key_export_jwk, op_crypto_key_import, op_crypto_key_import_jwk, op_crypto_key_rsa,
} = require("ops");

/** Both lists in one. Made while an app may have changed arrays: nothing is pushed. */
function joined(one, other) {
  const list = [];
  for (let i = 0; i < one.length; i++) define(list, list.length, one[i]);
  for (let i = 0; i < other.length; i++) define(list, list.length, other[i]);
  return list;
}

/**
 * What all pairs share.
 * @param {{
 *   publicUsages: string[], privateUsages: string[],
 *   use: string,
 *   kty: string,
 *   kind: (algorithm: any) => string,
 *   raw: boolean,
 *   generate: (algorithm: any) => any,
 *   describe: (algorithm: any, handle: number) => any,
 *   checkJwk?: (algorithm: any, key: any, prefix: string) => void,
 *   jwkMembers: (algorithm: any) => any[],
 *   operations: any,
 * }} pair
 */
function keyPair(pair) {
  const { publicUsages, privateUsages } = pair;
  const all = joined(publicUsages, privateUsages);
  const usagesOf = (type) => (type === "private" ? privateUsages : publicUsages);

  function made(type, algorithm, extractable, usages, handle) {
    return createKey(type, extractable, pair.describe(algorithm, handle), usages, handle);
  }

  return {
    __proto__: null,
    usages: all,
    publicUsages,
    generateKey(algorithm, extractable, usages, prefix) {
      checkUsages(usages, all, prefix);
      const finish = (handles) => ({
        __proto__: null,
        publicKey: made("public", algorithm, true, normalizeUsages(usages, publicUsages), handles[0]),
        privateKey: made("private", algorithm, extractable, normalizeUsages(usages, privateUsages), handles[1]),
      });
      const handles = pair.generate(algorithm);
      return ArrayIsArray(handles) ? finish(handles) : PromisePrototypeThen(handles, finish);
    },
    importKey(algorithm, format, data, extractable, usages, prefix) {
      const kind = pair.kind(algorithm);
      let type = format === "pkcs8" ? "private" : "public";
      if (format === "jwk") type = data.d === undefined ? "public" : "private";
      checkUsages(usages, usagesOf(type), prefix);
      if (format === "jwk") {
        jwk.check(data, pair.kty, pair.use, extractable, usages, prefix);
        pair.checkJwk?.(algorithm, data, prefix);
        return made(type, algorithm, extractable, usages, op_crypto_key_import_jwk(kind, jwk.materialOf(data)));
      }
      const bytes = format === "raw-public" ? "raw" : format;
      if (bytes !== "pkcs8" && bytes !== "spki" && !(bytes === "raw" && pair.raw)) throw notThisFormat(format, prefix);
      return made(type, algorithm, extractable, usages, op_crypto_key_import(kind, bytes, data));
    },
    exportKey(key, format, prefix) {
      if (format === "jwk") {
        return jwk.create(joined(["kty", pair.kty], pair.jwkMembers(key.algorithm)), op_crypto_key_export_jwk(key.handle), key);
      }
      const bytes = format === "raw-public" ? "raw" : format;
      if (bytes !== "pkcs8" && bytes !== "spki" && !(bytes === "raw" && pair.raw)) throw notThisFormat(format, prefix);
      needs(key, bytes === "pkcs8" ? "private" : "public");
      return op_crypto_key_export(key.handle, bytes);
    },
    ...pair.operations,
  };
}

function needs(key, type) {
  if (key.type !== type) throw new DOMException(`The operation needs a ${type} key`, "InvalidAccessError");
}

// ---- RSA

function rsa(name, publicUsages, privateUsages, use, algs, operations) {
  return keyPair({
    publicUsages, privateUsages, use, operations,
    kty: "RSA",
    kind: () => "RSA",
    raw: false,
    generate: ({ modulusLength, publicExponent }) => run("generate-rsa", modulusLength, publicExponent),
    describe({ hash }, handle) {
      const parameters = op_crypto_key_rsa(handle);
      return { __proto__: null, name, hash, modulusLength: parameters[0], publicExponent: parameters[1] };
    },
    checkJwk({ hash }, key, prefix) {
      if (key.alg !== undefined && key.alg !== algs[hash]) {
        throw jwk.dataError(prefix, `The key's member "alg" must be "${algs[hash]}"`);
      }
      if (key.oth !== undefined) {
        throw new DOMException(`${prefix}: Keys of more than two primes are not supported`, "NotSupportedError");
      }
    },
    jwkMembers: ({ hash }) => ["alg", algs[hash]],
  });
}

const hashes = (prefix) => ({
  __proto__: null,
  "SHA-1": `${prefix}1`, "SHA-256": `${prefix}256`, "SHA-384": `${prefix}384`, "SHA-512": `${prefix}512`,
});

const PKCS1 = {
  __proto__: null,
  sign: (_, key, data) => (needs(key, "private"), run("rsa-pkcs1-sign", key.handle, key.algorithm.hash, data)),
  verify: (_, key, signature, data) =>
    (needs(key, "public"), run("rsa-pkcs1-verify", key.handle, key.algorithm.hash, data, signature)),
};

const PSS = {
  __proto__: null,
  sign: ({ saltLength }, key, data) =>
    (needs(key, "private"), run("rsa-pss-sign", key.handle, key.algorithm.hash, data, saltLength)),
  verify: ({ saltLength }, key, signature, data) =>
    (needs(key, "public"), run("rsa-pss-verify", key.handle, key.algorithm.hash, data, signature, saltLength)),
};

const OAEP = {
  __proto__: null,
  encrypt: ({ label }, key, data) =>
    (needs(key, "public"), run("rsa-encrypt", key.handle, key.algorithm.hash, data, label)),
  decrypt: ({ label }, key, data) =>
    (needs(key, "private"), run("rsa-decrypt", key.handle, key.algorithm.hash, data, label)),
};

// ---- Elliptic curves

const CURVES = ["P-256", "P-384", "P-521"];
const CURVE_ALG = { __proto__: null, "P-256": "ES256", "P-384": "ES384", "P-521": "ES512" };

function curveOf({ namedCurve }) {
  if (!has(CURVES, namedCurve)) throw new DOMException(`'${namedCurve}' is not a supported curve`, "NotSupportedError");
  return namedCurve;
}

function ec(name, publicUsages, privateUsages, use, operations) {
  return keyPair({
    publicUsages, privateUsages, use, operations,
    kty: "EC",
    kind: curveOf,
    raw: true,
    generate: (algorithm) => run("generate-pair", curveOf(algorithm)),
    describe: ({ namedCurve }) => ({ __proto__: null, name, namedCurve }),
    checkJwk({ namedCurve }, key, prefix) {
      if (key.crv !== namedCurve) throw jwk.dataError(prefix, `The key's member "crv" must be "${namedCurve}"`);
      if (name === "ECDSA" && key.alg !== undefined && key.alg !== CURVE_ALG[namedCurve]) {
        throw jwk.dataError(prefix, `The key's member "alg" must be "${CURVE_ALG[namedCurve]}"`);
      }
    },
    jwkMembers: ({ namedCurve }) => ["crv", namedCurve],
  });
}

const ECDSA = {
  __proto__: null,
  sign: ({ hash }, key, data) => (needs(key, "private"), run("ecdsa-sign", key.handle, hash, data)),
  verify: ({ hash }, key, signature, data) => (needs(key, "public"), run("ecdsa-verify", key.handle, hash, data, signature)),
};

// ---- Agreement

/** The first bits of what both sides share; all of them where the length is null. */
function agreedBits(algorithm, key, length) {
  needs(key, "private");
  const other = slotsOf(algorithm.public);
  if (other.type !== "public") throw new DOMException("The other side's key must be a public one", "InvalidAccessError");
  if (other.algorithm.name !== key.algorithm.name || other.algorithm.namedCurve !== key.algorithm.namedCurve) {
    throw new DOMException("The two keys are of different algorithms", "InvalidAccessError");
  }
  const secret = new Uint8Array(run("agree", key.handle, other.handle));
  if (length === null) return secret;
  if (length > TypedArrayPrototypeGetByteLength(secret) * 8) throw operationError("The secret has fewer bits");
  const bits = new Uint8Array(MathCeil(length / 8));
  for (let i = 0; i * 8 < length; i++) bits[i] = secret[i];
  if (length % 8 !== 0) bits[(length - (length % 8)) / 8] &= 0xff << (8 - (length % 8));
  return bits;
}

const AGREEMENT = { __proto__: null, deriveBits: agreedBits };
const DERIVES = ["deriveKey", "deriveBits"];

// ---- Octet key pairs

function okp(name, publicUsages, privateUsages, use, operations) {
  return keyPair({
    publicUsages, privateUsages, use, operations,
    kty: "OKP",
    kind: () => name,
    raw: true,
    generate: () => run("generate-pair", name),
    describe: () => ({ __proto__: null, name }),
    checkJwk(_, key, prefix) {
      if (key.crv !== name) throw jwk.dataError(prefix, `The key's member "crv" must be "${name}"`);
      if (use === "sig" && key.alg !== undefined && key.alg !== name && key.alg !== "EdDSA") {
        throw jwk.dataError(prefix, `The key's member "alg" must be "${name}" or "EdDSA"`);
      }
    },
    jwkMembers: () => (use === "sig" ? ["crv", name, "alg", name] : ["crv", name]),
  });
}

/** Ed448 alone has contexts; none and an empty one are the same. */
function contextOf({ context }) {
  return context !== undefined && TypedArrayPrototypeGetByteLength(context) > 0 ? context : undefined;
}

const EDDSA = {
  __proto__: null,
  sign(algorithm, key, data) {
    needs(key, "private");
    const context = contextOf(algorithm);
    if (context === undefined) return run("eddsa-sign", key.handle, data);
    return run("node-sign", key.handle, undefined, undefined, undefined, false, context, data, false);
  },
  verify(algorithm, key, signature, data) {
    needs(key, "public");
    const context = contextOf(algorithm);
    if (context === undefined) return run("eddsa-verify", key.handle, data, signature);
    return run("node-verify", key.handle, undefined, undefined, undefined, false, context, data, false, signature);
  },
};

/** @type {Record<string, any>} */
const pairs = {
  __proto__: /** @type {any} */ (null),
  "RSASSA-PKCS1-v1_5": rsa("RSASSA-PKCS1-v1_5", ["verify"], ["sign"], "sig", hashes("RS"), PKCS1),
  "RSA-PSS": rsa("RSA-PSS", ["verify"], ["sign"], "sig", hashes("PS"), PSS),
  "RSA-OAEP": rsa("RSA-OAEP", ["encrypt", "wrapKey"], ["decrypt", "unwrapKey"], "enc", {
    __proto__: null,
    "SHA-1": "RSA-OAEP", "SHA-256": "RSA-OAEP-256", "SHA-384": "RSA-OAEP-384", "SHA-512": "RSA-OAEP-512",
  }, OAEP),
  "ECDSA": ec("ECDSA", ["verify"], ["sign"], "sig", ECDSA),
  "ECDH": ec("ECDH", [], DERIVES, "enc", AGREEMENT),
  "Ed25519": okp("Ed25519", ["verify"], ["sign"], "sig", EDDSA),
  "Ed448": okp("Ed448", ["verify"], ["sign"], "sig", EDDSA),
  "X25519": okp("X25519", [], DERIVES, "enc", AGREEMENT),
  "X448": okp("X448", [], DERIVES, "enc", AGREEMENT),
};

module.exports = { pairs };
