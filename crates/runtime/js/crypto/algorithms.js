// @ts-check
"use strict";
// "Normalize an algorithm" (https://w3c.github.io/webcrypto/#algorithm-normalization): the registered algorithms, and the
// dictionaries of their parameters. A normalised algorithm has no prototype, the registered spelling of its name, copies of all
// buffers, and the name of its hash as a string.
//
// SHA-3, AES-OCB, ChaCha20-Poly1305, Ed448 and X448 are those of "Modern Algorithms in the Web Cryptography API"
// (https://wicg.github.io/webcrypto-modern-algos/) and of its secure curves.

const { ObjectPrototypeHasOwnProperty, SafeMap } = require("primordials");
const webidl = require("webidl");
const { converters } = webidl;
const { DOMException } = require("dom/exception");
const { asciiLowercase, copyBytes } = require("infra/bytes");
const cryptoKey = require("crypto/key");

const ENFORCE = { __proto__: null, enforceRange: true };
const bufferSource = (value, prefix, context) => converters.BufferSource(value, prefix, context);
/** (object or DOMString) */
const identifier = (value, prefix, context) =>
  webidl.isObject(value) ? value : converters.DOMString(value, prefix, context);

const required = (key, converter, options = undefined) =>
  ({ __proto__: null, key, converter, required: true, defaultValue: undefined, options });
const optional = (key, converter, options = undefined) =>
  ({ __proto__: null, key, converter, required: false, defaultValue: undefined, options });
/** The members of all dictionaries but the name, which has been read: a getter of an app is called once. */
const dictionary = webidl.createDictionaryConverter;

const HASH = [required("hash", identifier)];
const NAMED_CURVE = [required("namedCurve", converters.DOMString)];
const AEAD = [
  required("iv", bufferSource), optional("additionalData", bufferSource), optional("tagLength", converters.octet, ENFORCE),
];

const convertAlgorithm = webidl.createDictionaryConverter("Algorithm", [required("name", converters.DOMString)]);
const rsaGeneration = dictionary("RsaHashedKeyGenParams", [
  required("modulusLength", converters["unsigned long"], ENFORCE), required("publicExponent", converters.Uint8Array),
], HASH);
const hashed = dictionary("RsaHashedImportParams", HASH);
const pss = dictionary("RsaPssParams", [required("saltLength", converters["unsigned long"], ENFORCE)]);
const oaep = dictionary("RsaOaepParams", [optional("label", bufferSource)]);
const curve = dictionary("EcKeyImportParams", NAMED_CURVE);
const agreement = dictionary("EcdhKeyDeriveParams", [required("public", cryptoKey.converter)]);
const aesLength = dictionary("AesKeyGenParams", [required("length", converters["unsigned short"], ENFORCE)]);
const cbc = dictionary("AesCbcParams", [required("iv", bufferSource)]);
const ctr = dictionary("AesCtrParams", [
  required("counter", bufferSource), required("length", converters.octet, ENFORCE),
]);
const aead = dictionary("AeadParams", AEAD);
const hmacKey = dictionary("HmacKeyGenParams", [
  required("hash", identifier), optional("length", converters["unsigned long"], ENFORCE),
]);
const hkdf = dictionary("HkdfParams", [
  required("hash", identifier), required("info", bufferSource), required("salt", bufferSource),
]);
const pbkdf2 = dictionary("Pbkdf2Params", [
  required("hash", identifier), required("iterations", converters["unsigned long"], ENFORCE), required("salt", bufferSource),
]);
const ed448 = dictionary("Ed448Params", [optional("context", bufferSource)]);

const none = dictionary("Algorithm");
/** For each algorithm the operations that it has, and the dictionary of each. */
const ALGORITHMS = {
  __proto__: null,
  "SHA-1": { __proto__: null, digest: none },
  "SHA-256": { __proto__: null, digest: none },
  "SHA-384": { __proto__: null, digest: none },
  "SHA-512": { __proto__: null, digest: none },
  "SHA3-256": { __proto__: null, digest: none },
  "SHA3-384": { __proto__: null, digest: none },
  "SHA3-512": { __proto__: null, digest: none },
  "RSASSA-PKCS1-v1_5": { __proto__: null, generateKey: rsaGeneration, importKey: hashed, exportKey: none, sign: none, verify: none },
  "RSA-PSS": { __proto__: null, generateKey: rsaGeneration, importKey: hashed, exportKey: none, sign: pss, verify: pss },
  "RSA-OAEP": { __proto__: null, generateKey: rsaGeneration, importKey: hashed, exportKey: none, encrypt: oaep, decrypt: oaep },
  "ECDSA": { __proto__: null, generateKey: curve, importKey: curve, exportKey: none, sign: hashed, verify: hashed },
  "ECDH": { __proto__: null, generateKey: curve, importKey: curve, exportKey: none, deriveBits: agreement },
  "Ed25519": { __proto__: null, generateKey: none, importKey: none, exportKey: none, sign: none, verify: none },
  "Ed448": { __proto__: null, generateKey: none, importKey: none, exportKey: none, sign: ed448, verify: ed448 },
  "X25519": { __proto__: null, generateKey: none, importKey: none, exportKey: none, deriveBits: agreement },
  "X448": { __proto__: null, generateKey: none, importKey: none, exportKey: none, deriveBits: agreement },
  "AES-CTR": { __proto__: null, generateKey: aesLength, importKey: none, exportKey: none, "get key length": aesLength, encrypt: ctr, decrypt: ctr },
  "AES-CBC": { __proto__: null, generateKey: aesLength, importKey: none, exportKey: none, "get key length": aesLength, encrypt: cbc, decrypt: cbc },
  "AES-GCM": { __proto__: null, generateKey: aesLength, importKey: none, exportKey: none, "get key length": aesLength, encrypt: aead, decrypt: aead },
  "AES-OCB": { __proto__: null, generateKey: aesLength, importKey: none, exportKey: none, "get key length": aesLength, encrypt: aead, decrypt: aead },
  "AES-KW": { __proto__: null, generateKey: aesLength, importKey: none, exportKey: none, "get key length": aesLength, wrapKey: none, unwrapKey: none },
  "ChaCha20-Poly1305": { __proto__: null, generateKey: none, importKey: none, exportKey: none, "get key length": none, encrypt: aead, decrypt: aead },
  "HMAC": { __proto__: null, generateKey: hmacKey, importKey: hmacKey, exportKey: none, "get key length": hmacKey, sign: none, verify: none },
  "HKDF": { __proto__: null, importKey: none, "get key length": none, deriveBits: hkdf },
  "PBKDF2": { __proto__: null, importKey: none, "get key length": none, deriveBits: pbkdf2 },
};

/** Lower case to the registered spelling. */
const names = new SafeMap();
for (const name in ALGORITHMS) names.set(asciiLowercase(name), name);

const BUFFERS = ["iv", "additionalData", "counter", "label", "salt", "info", "context", "publicExponent"];

function notSupported(prefix, name, operation) {
  return new DOMException(`${prefix}: '${name}' is not an algorithm for ${operation}`, "NotSupportedError");
}

/** @returns {any} */
function normalize(algorithm, operation, prefix) {
  algorithm = identifier(algorithm, prefix, "The algorithm");
  const given = typeof algorithm === "string" ? algorithm : convertAlgorithm(algorithm, prefix, "The algorithm").name;
  const name = names.get(asciiLowercase(given));
  if (name === undefined || ALGORITHMS[name][operation] === undefined) throw notSupported(prefix, given, operation);
  const desired = ALGORITHMS[name][operation];
  const normalized = desired(typeof algorithm === "string" ? undefined : algorithm, prefix, "The algorithm");
  normalized.name = name;
  for (let i = 0; i < BUFFERS.length; i++) {
    if (normalized[BUFFERS[i]] !== undefined) normalized[BUFFERS[i]] = copyBytes(normalized[BUFFERS[i]]);
  }
  if (normalized.hash !== undefined) normalized.hash = normalize(normalized.hash, "digest", prefix).name;
  return normalized;
}

function supports(name, operation) {
  return ObjectPrototypeHasOwnProperty(ALGORITHMS[name], operation);
}

module.exports = { normalize, supports };
