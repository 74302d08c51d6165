// @ts-check
"use strict";
// CryptoKey (https://w3c.github.io/webcrypto/#cryptokey-interface). The key itself is Rust's: a handle names it, and goes with
// the object. No known deviations.

const { ObjectDefineProperty, Uint8Array } = require("primordials");
const webidl = require("webidl");
const { registerPlatformClass } = require("platform_classes");
const { op_crypto_key_own } = require("ops");

const TOKEN = { __proto__: null };

/** All usages, in the order in which they are listed. The last four are of algorithms that are not supported yet. */
const USAGES = [
  "encrypt", "decrypt", "sign", "verify", "deriveKey", "deriveBits", "wrapKey", "unwrapKey",
  "encapsulateKey", "encapsulateBits", "decapsulateKey", "decapsulateBits",
];

/** @type {(key: any) => any} */
let slotsOf;

class CryptoKey {
  /** What this folder sees: { type, extractable, algorithm, usages, handle }, without a prototype. */
  #slots;
  /** What the app sees, made once. */
  #algorithm;
  #usages;

  // @ts-ignore: a hidden argument
  constructor(token = undefined, slots = undefined) {
    if (token !== TOKEN) webidl.illegalConstructor();
    this.#slots = slots;
  }

  get type() {
    if (!(#slots in this)) throw webidl.brandError("Failed to read 'type' of 'CryptoKey'");
    return this.#slots.type;
  }

  get extractable() {
    if (!(#slots in this)) throw webidl.brandError("Failed to read 'extractable' of 'CryptoKey'");
    return this.#slots.extractable;
  }

  get algorithm() {
    if (!(#slots in this)) throw webidl.brandError("Failed to read 'algorithm' of 'CryptoKey'");
    return (this.#algorithm ??= plainAlgorithm(this.#slots.algorithm));
  }

  get usages() {
    if (!(#slots in this)) throw webidl.brandError("Failed to read 'usages' of 'CryptoKey'");
    return (this.#usages ??= plainList(this.#slots.usages));
  }

  static {
    slotsOf = (key) => (webidl.isObject(key) && #slots in key ? key.#slots : undefined);
  }
}
webidl.configureInterface(CryptoKey);
registerPlatformClass(CryptoKey, ["type", "extractable", "algorithm", "usages"]);

function define(object, key, value) {
  ObjectDefineProperty(object, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
}

/** A list for the app: an array of its own. */
function plainList(list) {
  const copy = [];
  for (let i = 0; i < list.length; i++) define(copy, i, list[i]);
  return copy;
}

/** A KeyAlgorithm for the app: an ordinary object. */
function plainAlgorithm({ name, length, hash, namedCurve, modulusLength, publicExponent }) {
  const algorithm = {};
  define(algorithm, "name", name);
  if (modulusLength !== undefined) {
    define(algorithm, "modulusLength", modulusLength);
    define(algorithm, "publicExponent", new Uint8Array(publicExponent));
  }
  if (hash !== undefined) {
    const named = {};
    define(named, "name", hash);
    define(algorithm, "hash", named);
  }
  if (length !== undefined) define(algorithm, "length", length);
  if (namedCurve !== undefined) define(algorithm, "namedCurve", namedCurve);
  return algorithm;
}

/** The usages that `wanted` has, without repetition, in their usual order; or those of them that `allowed` has, too. */
function normalizeUsages(wanted, allowed = USAGES) {
  const list = [];
  for (let i = 0; i < USAGES.length; i++) {
    if (has(wanted, USAGES[i]) && has(allowed, USAGES[i])) define(list, list.length, USAGES[i]);
  }
  return list;
}

function has(list, item) {
  for (let i = 0; i < list.length; i++) if (list[i] === item) return true;
  return false;
}

/**
 * A key of the handle, which is the object's from now on.
 * @param {{ name: string, length?: number, hash?: string, namedCurve?: string, modulusLength?: number, publicExponent?: Uint8Array }} algorithm
 */
function createKey(type, extractable, algorithm, usages, handle) {
  const slots = { __proto__: null, type, extractable, algorithm, usages: normalizeUsages(usages), handle };
  const key = new CryptoKey(/** @type {any} */ (TOKEN), /** @type {any} */ (slots));
  op_crypto_key_own(key, handle);
  return key;
}

const converter = webidl.createInterfaceConverter("CryptoKey", (value) => slotsOf(value) !== undefined);

module.exports = { CryptoKey, createKey, slotsOf, converter, normalizeUsages, has, define, plainList, USAGES };
