// @ts-check
"use strict";
// SubtleCrypto (https://w3c.github.io/webcrypto/#subtlecrypto-interface): the checks that all algorithms share, over the tables
// of `secrets.js` and `pairs.js`, which call the natives. Long computations run on another thread.
//
// Natives copy what they are given, and no code of the app runs between the conversion of the arguments and the native: buffers
// are passed on as they are.
//
// Deviations: short computations are over before the promise is given, which nothing but their order shows.

const {
  ArrayBufferIsView, JSONParse, JSONStringify, TypeError, TypedArrayPrototypeGetBuffer,
  TypedArrayPrototypeGetByteLength, Uint8Array,
} = require("primordials");
const webidl = require("webidl");
const { converters } = webidl;
const { DOMException } = require("dom/exception");
const { asBytes, utf8Decode, utf8Encode } = require("infra/bytes");
const { normalize, supports } = require("crypto/algorithms");
const { converter: convertKey, createKey, define, has, normalizeUsages, slotsOf, USAGES } = require("crypto/key");
const jwk = require("crypto/jwk");
const { pairs } = require("crypto/pairs");
const { run, secrets } = require("crypto/secrets");
const { op_crypto_digest, op_crypto_equal, op_crypto_key_public } = require("ops");

const TOKEN = { __proto__: null };

const FORMATS = ["raw", "spki", "pkcs8", "jwk", "raw-public", "raw-private", "raw-seed", "raw-secret"];
const convertFormat = webidl.createEnumConverter("KeyFormat", FORMATS);
const convertUsages = webidl.createSequenceConverter(webidl.createEnumConverter("KeyUsage", USAGES));

/** The operations of an algorithm. */
const algorithmOf = (name) => secrets[name] ?? pairs[name];
const algorithmIdentifier = (value, prefix, context) =>
  webidl.isObject(value) ? value : converters.DOMString(value, prefix, context);

/** A digest of so many bytes or more is computed on another thread. */
const LONG_DIGEST = 128 * 1024;

function invalidAccess(prefix, problem) {
  return new DOMException(`${prefix}: ${problem}`, "InvalidAccessError");
}

/** The slots of a key that may do this with this algorithm. */
function keyFor(key, algorithm, usage, prefix) {
  const slots = slotsOf(key);
  if (slots.algorithm.name !== algorithm.name) {
    throw invalidAccess(prefix, `The key is one of ${slots.algorithm.name}, not of ${algorithm.name}`);
  }
  if (!has(slots.usages, usage)) throw invalidAccess(prefix, `The key's usages do not permit '${usage}'`);
  return slots;
}

/** Secret and private keys must be good for something. */
function checkKey(key, prefix) {
  const { type, usages } = slotsOf(key);
  if (type !== "public" && usages.length === 0) {
    throw new DOMException(`${prefix}: The key would have no usages`, "SyntaxError");
  }
  return key;
}

function importKey(format, data, algorithm, extractable, usages, prefix) {
  const key = algorithmOf(algorithm.name).importKey(algorithm, format, data, extractable, usages, prefix);
  return checkKey(key, prefix);
}

function exportKey(format, key, prefix) {
  if (!supports(key.algorithm.name, "exportKey")) {
    throw new DOMException(`${prefix}: Keys of ${key.algorithm.name} cannot be exported`, "NotSupportedError");
  }
  if (!key.extractable) throw invalidAccess(prefix, "The key is not extractable");
  return algorithmOf(key.algorithm.name).exportKey(key, format, prefix);
}

/** An algorithm for `operation`, or else for `fallback`. */
function normalizeEither(algorithm, operation, fallback, prefix) {
  try {
    return { __proto__: null, operation, algorithm: normalize(algorithm, operation, prefix) };
  } catch {
    return { __proto__: null, operation: fallback, algorithm: normalize(algorithm, fallback, prefix) };
  }
}

/** BufferSource or JsonWebKey, as the format demands. */
function convertKeyData(format, data, prefix) {
  const isBuffer = ArrayBufferIsView(data) || webidl.isArrayBuffer(data);
  if (format === "jwk") {
    if (isBuffer) throw new TypeError(`${prefix}: A JSON Web Key was expected, not bytes`);
    return jwk.convert(data, prefix, "Argument 2");
  }
  if (!isBuffer) {
    jwk.convert(data, prefix, "Argument 2");
    throw new TypeError(`${prefix}: Bytes were expected for the format '${format}'`);
  }
  return converters.BufferSource(data, prefix, "Argument 2");
}

class SubtleCrypto {
  #brand;

  // @ts-ignore: a hidden argument
  constructor(token = undefined) {
    if (token !== TOKEN) webidl.illegalConstructor();
  }

  /** Brand and number of arguments; gives the prefix of messages. */
  static #begin(object, method, length, required) {
    const prefix = `Failed to execute '${method}' on 'SubtleCrypto'`;
    if (!webidl.isObject(object) || !(#brand in object)) throw webidl.brandError(prefix);
    webidl.requiredArguments(length, required, prefix);
    return prefix;
  }

  /** encrypt, decrypt, sign. */
  static #transform(object, operation, length, algorithm, key, data) {
    const prefix = SubtleCrypto.#begin(object, operation, length, 3);
    algorithm = algorithmIdentifier(algorithm, prefix, "Argument 1");
    key = convertKey(key, prefix, "Argument 2");
    data = converters.BufferSource(data, prefix, "Argument 3");
    const normalized = normalize(algorithm, operation, prefix);
    data = asBytes(data);
    const slots = keyFor(key, normalized, operation, prefix);
    return algorithmOf(normalized.name)[operation](normalized, slots, data);
  }

  // A method that returns a promise rejects it, whatever goes wrong: async functions do.

  async encrypt(algorithm, key, data) {
    return SubtleCrypto.#transform(this, "encrypt", arguments.length, algorithm, key, data);
  }

  async decrypt(algorithm, key, data) {
    return SubtleCrypto.#transform(this, "decrypt", arguments.length, algorithm, key, data);
  }

  async sign(algorithm, key, data) {
    return SubtleCrypto.#transform(this, "sign", arguments.length, algorithm, key, data);
  }

  async verify(algorithm, key, signature, data) {
    const prefix = SubtleCrypto.#begin(this, "verify", arguments.length, 4);
    algorithm = algorithmIdentifier(algorithm, prefix, "Argument 1");
    key = convertKey(key, prefix, "Argument 2");
    signature = converters.BufferSource(signature, prefix, "Argument 3");
    data = converters.BufferSource(data, prefix, "Argument 4");
    const normalized = normalize(algorithm, "verify", prefix);
    signature = asBytes(signature);
    data = asBytes(data);
    const slots = keyFor(key, normalized, "verify", prefix);
    return algorithmOf(normalized.name).verify(normalized, slots, signature, data);
  }

  async digest(algorithm, data) {
    const prefix = SubtleCrypto.#begin(this, "digest", arguments.length, 2);
    algorithm = algorithmIdentifier(algorithm, prefix, "Argument 1");
    data = converters.BufferSource(data, prefix, "Argument 2");
    const { name } = normalize(algorithm, "digest", prefix);
    const bytes = asBytes(data);
    // No copy is needed for what is computed at once.
    if (TypedArrayPrototypeGetByteLength(bytes) < LONG_DIGEST) return op_crypto_digest(name, bytes);
    return run("digest", name, bytes);
  }

  async generateKey(algorithm, extractable, keyUsages) {
    const prefix = SubtleCrypto.#begin(this, "generateKey", arguments.length, 3);
    algorithm = algorithmIdentifier(algorithm, prefix, "Argument 1");
    extractable = converters.boolean(extractable);
    const usages = convertUsages(keyUsages, prefix, "Argument 3");
    const normalized = normalize(algorithm, "generateKey", prefix);
    const made = await algorithmOf(normalized.name).generateKey(normalized, extractable, usages, prefix);
    if (slotsOf(made) !== undefined) return checkKey(made, prefix);
    checkKey(made.privateKey, prefix);
    const pair = {};
    define(pair, "publicKey", made.publicKey);
    define(pair, "privateKey", made.privateKey);
    return pair;
  }

  async deriveKey(algorithm, baseKey, derivedKeyType, extractable, keyUsages) {
    const prefix = SubtleCrypto.#begin(this, "deriveKey", arguments.length, 5);
    algorithm = algorithmIdentifier(algorithm, prefix, "Argument 1");
    baseKey = convertKey(baseKey, prefix, "Argument 2");
    derivedKeyType = algorithmIdentifier(derivedKeyType, prefix, "Argument 3");
    extractable = converters.boolean(extractable);
    const usages = convertUsages(keyUsages, prefix, "Argument 5");
    const normalized = normalize(algorithm, "deriveBits", prefix);
    const target = normalize(derivedKeyType, "importKey", prefix);
    const sized = normalize(derivedKeyType, "get key length", prefix);
    const slots = keyFor(baseKey, normalized, "deriveKey", prefix);
    const length = algorithmOf(sized.name).keyLength(sized);
    const bits = await algorithmOf(normalized.name).deriveBits(normalized, slots, length);
    const format = target.name === "AES-OCB" || target.name === "ChaCha20-Poly1305" ? "raw-secret" : "raw";
    return importKey(format, asBytes(bits), target, extractable, usages, prefix);
  }

  async deriveBits(algorithm, baseKey, length = null) {
    const prefix = SubtleCrypto.#begin(this, "deriveBits", arguments.length, 2);
    algorithm = algorithmIdentifier(algorithm, prefix, "Argument 1");
    baseKey = convertKey(baseKey, prefix, "Argument 2");
    const bits = length === null || length === undefined ? null : converters["unsigned long"](length, prefix, "Argument 3");
    const normalized = normalize(algorithm, "deriveBits", prefix);
    const slots = keyFor(baseKey, normalized, "deriveBits", prefix);
    const derived = await algorithmOf(normalized.name).deriveBits(normalized, slots, bits);
    return ArrayBufferIsView(derived) ? TypedArrayPrototypeGetBuffer(derived) : derived;
  }

  async importKey(format, keyData, algorithm, extractable, keyUsages) {
    const prefix = SubtleCrypto.#begin(this, "importKey", arguments.length, 5);
    format = convertFormat(format, prefix, "Argument 1");
    let data = convertKeyData(format, keyData, prefix);
    algorithm = algorithmIdentifier(algorithm, prefix, "Argument 3");
    extractable = converters.boolean(extractable);
    const usages = convertUsages(keyUsages, prefix, "Argument 5");
    const normalized = normalize(algorithm, "importKey", prefix);
    if (format !== "jwk") data = asBytes(data);
    return importKey(format, data, normalized, extractable, usages, prefix);
  }

  async exportKey(format, key) {
    const prefix = SubtleCrypto.#begin(this, "exportKey", arguments.length, 2);
    format = convertFormat(format, prefix, "Argument 1");
    key = convertKey(key, prefix, "Argument 2");
    return exportKey(format, slotsOf(key), prefix);
  }

  async wrapKey(format, key, wrappingKey, wrapAlgorithm) {
    const prefix = SubtleCrypto.#begin(this, "wrapKey", arguments.length, 4);
    format = convertFormat(format, prefix, "Argument 1");
    key = convertKey(key, prefix, "Argument 2");
    wrappingKey = convertKey(wrappingKey, prefix, "Argument 3");
    wrapAlgorithm = algorithmIdentifier(wrapAlgorithm, prefix, "Argument 4");
    const { operation, algorithm } = normalizeEither(wrapAlgorithm, "wrapKey", "encrypt", prefix);
    const wrapping = keyFor(wrappingKey, algorithm, "wrapKey", prefix);
    const exported = exportKey(format, slotsOf(key), prefix);
    const bytes = format === "jwk" ? utf8Encode(JSONStringify(jwk.withoutPrototypes(exported))) : new Uint8Array(exported);
    return algorithmOf(algorithm.name)[operation](algorithm, wrapping, bytes);
  }

  async unwrapKey(format, wrappedKey, unwrappingKey, unwrapAlgorithm, unwrappedKeyAlgorithm, extractable, keyUsages) {
    const prefix = SubtleCrypto.#begin(this, "unwrapKey", arguments.length, 7);
    format = convertFormat(format, prefix, "Argument 1");
    wrappedKey = converters.BufferSource(wrappedKey, prefix, "Argument 2");
    unwrappingKey = convertKey(unwrappingKey, prefix, "Argument 3");
    unwrapAlgorithm = algorithmIdentifier(unwrapAlgorithm, prefix, "Argument 4");
    unwrappedKeyAlgorithm = algorithmIdentifier(unwrappedKeyAlgorithm, prefix, "Argument 5");
    extractable = converters.boolean(extractable);
    const usages = convertUsages(keyUsages, prefix, "Argument 7");
    const { operation, algorithm } = normalizeEither(unwrapAlgorithm, "unwrapKey", "decrypt", prefix);
    const target = normalize(unwrappedKeyAlgorithm, "importKey", prefix);
    const unwrapping = keyFor(unwrappingKey, algorithm, "unwrapKey", prefix);
    wrappedKey = asBytes(wrappedKey);
    const bytes = new Uint8Array(await algorithmOf(algorithm.name)[operation](algorithm, unwrapping, wrappedKey));
    return importKey(format, format === "jwk" ? parseJwk(bytes, prefix) : bytes, target, extractable, usages, prefix);
  }

  /** Of Workers: whether both are the same bytes, in a time that depends on their length alone. */
  timingSafeEqual(one, other) {
    const prefix = SubtleCrypto.#begin(this, "timingSafeEqual", arguments.length, 2);
    return timingSafeEqual(one, other, prefix);
  }

  async getPublicKey(key, keyUsages) {
    const prefix = SubtleCrypto.#begin(this, "getPublicKey", arguments.length, 2);
    key = convertKey(key, prefix, "Argument 1");
    const usages = convertUsages(keyUsages, prefix, "Argument 2");
    const { type, algorithm, handle } = slotsOf(key);
    if (pairs[algorithm.name] === undefined) {
      throw new DOMException(`${prefix}: ${algorithm.name} has no public keys`, "NotSupportedError");
    }
    if (type !== "private") throw invalidAccess(prefix, "The key is not a private key");
    const allowed = pairs[algorithm.name].publicUsages;
    if (normalizeUsages(usages, allowed).length !== normalizeUsages(usages).length) {
      throw new DOMException(`${prefix}: A public key has no such usage`, "SyntaxError");
    }
    return createKey("public", true, algorithm, usages, op_crypto_key_public(handle));
  }
}
webidl.configureInterface(SubtleCrypto);

function timingSafeEqual(one, other, prefix) {
  one = asBytes(converters.BufferSource(one, prefix, "Argument 1"));
  other = asBytes(converters.BufferSource(other, prefix, "Argument 2"));
  if (TypedArrayPrototypeGetByteLength(one) !== TypedArrayPrototypeGetByteLength(other)) {
    throw new TypeError(`${prefix}: The two have different lengths`);
  }
  return op_crypto_equal(one, other);
}

function parseJwk(bytes, prefix) {
  let parsed;
  try {
    parsed = JSONParse(utf8Decode(bytes));
  } catch {
    throw jwk.dataError(prefix, "What was unwrapped is not JSON");
  }
  if (!webidl.isObject(parsed)) throw jwk.dataError(prefix, "What was unwrapped is not a JSON Web Key");
  const key = jwk.convert(parsed, prefix, "The key");
  if (key.kty === undefined) throw jwk.dataError(prefix, 'The key has no member "kty"');
  return key;
}

const subtle = new SubtleCrypto(/** @type {any} */ (TOKEN));

/** `importKey` without a promise, for Node's KeyObject. */
function importAtOnce(format, data, algorithm, extractable, keyUsages) {
  const prefix = "Failed to make a CryptoKey";
  algorithm = algorithmIdentifier(algorithm, prefix, "The algorithm");
  const usages = convertUsages(keyUsages, prefix, "The usages");
  const normalized = normalize(algorithm, "importKey", prefix);
  return importKey(format, asBytes(data), normalized, extractable === true, usages, prefix);
}

module.exports = { SubtleCrypto, subtle, importAtOnce, timingSafeEqual };
