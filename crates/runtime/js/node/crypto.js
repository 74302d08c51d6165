// @ts-check
"use strict";
// What Node's `crypto` needs of the runtime: keys, states of hashes and ciphers, computations, certificates.
//
// Natives name keys and states by numbers, which are the isolate's. An app gets objects instead that hide them, so it can
// name only what it has made itself.

const {
  ArrayBufferIsView, ArrayIsArray, PromisePrototypeThen, TypedArrayPrototypeGetByteLength,
  TypedArrayPrototypeSet, TypeError, Uint8Array,
} = require("primordials");
const webidl = require("webidl");
const { currentRequest } = require("request_scope");
const { asBytes } = require("infra/bytes");
const { DOMException } = require("dom/exception");
const { CryptoKey, slotsOf, define } = require("crypto/key");
const { Crypto, crypto } = require("crypto/random");
const {
  op_crypto_equal, op_crypto_key_export, op_crypto_key_own, op_crypto_key_public, op_crypto_key_secret, op_crypto_random,
  op_crypto_run, op_crypto_run_sync, op_crypto_uuid, op_node_crypto_certificate, op_node_crypto_info,
  op_node_crypto_key_describe, op_node_crypto_key_equals, op_node_crypto_key_jwk, op_node_crypto_key_read,
  op_node_crypto_key_share, op_node_crypto_key_to_jwk, op_node_crypto_key_write, op_node_crypto_state_call,
  op_node_crypto_state_new, op_node_crypto_state_update,
} = require("ops");

const subtle = lazy("crypto/subtle");

const TOKEN = { __proto__: null };

/** @type {(key: any) => number} */
let handleOf;
/** @type {(state: any) => number} */
let stateOf;

/** A key, as an object without properties. */
class KeyHandle {
  #handle;

  constructor(token = undefined, handle = undefined) {
    if (token !== TOKEN) webidl.illegalConstructor();
    this.#handle = /** @type {any} */ (handle);
    op_crypto_key_own(this, /** @type {any} */ (handle));
  }

  static {
    handleOf = (key) => {
      if (!webidl.isObject(key) || !(#handle in key)) throw new TypeError("a key was expected");
      return key.#handle;
    };
  }
}

/** A hash, HMAC or cipher that is fed piece by piece. */
class State {
  #handle;

  constructor(token = undefined, kind = undefined, values = undefined) {
    if (token !== TOKEN) webidl.illegalConstructor();
    this.#handle = op_node_crypto_state_new(this, /** @type {any} */ (kind), /** @type {any} */ (values));
  }

  static {
    stateOf = (state) => {
      if (!webidl.isObject(state) || !(#handle in state)) throw new TypeError("a hash or a cipher was expected");
      return state.#handle;
    };
  }
}

const keyOf = (handle) => new KeyHandle(/** @type {any} */ (TOKEN), handle);
const newState = (kind, values) => new State(/** @type {any} */ (TOKEN), kind, values);

/** Keys in front of the values. The values are copied: the natives get an array that nothing can change. */
function listOf(keys, values) {
  const list = [];
  for (let i = 0; i < keys.length; i++) define(list, list.length, handleOf(keys[i]));
  for (let i = 0; i < values.length; i++) define(list, list.length, values[i]);
  return list;
}

/** What can be computed, and how many keys it takes. */
const KEYS = {
  __proto__: null,
  "hash": 0, "scrypt": 0, "pbkdf2": 0, "hkdf": 0, "argon2": 0, "sign": 1, "verify": 1, "rsa": 1, "pair": 0, "prime": 0,
  "check-prime": 0, "dh-parameters": 0, "dh-keys": 0, "dh-secret": 0, "agree": 2, "ecdh-keys": 0, "ecdh-secret": 0,
};

function checked(name, keys, values) {
  if (typeof name !== "string" || KEYS[name] === undefined || !ArrayIsArray(keys) || keys.length !== KEYS[name]) {
    throw new TypeError("there is no such operation");
  }
  return listOf(keys, values);
}

/** The keys of a pair are handles so far. */
function made(name, result) {
  if (name !== "pair") return result;
  const pair = [];
  define(pair, 0, keyOf(result[0]));
  define(pair, 1, keyOf(result[1]));
  return pair;
}

function runSync(name, keys, values) {
  const list = checked(name, keys, values);
  return made(name, op_crypto_run_sync(`node-${name}`, list));
}

/** A promise where it takes long. */
function run(name, keys, values) {
  const list = checked(name, keys, values);
  const result = op_crypto_run(currentRequest(), `node-${name}`, list);
  if (name !== "pair") return result;
  return ArrayIsArray(result) ? made(name, result) : PromisePrototypeThen(result, (pair) => made(name, pair));
}

const INFO = { __proto__: null, "hashes": 1, "ciphers": 1, "curves": 1, "digest": 1, "cipher": 1, "group": 1, "ecdh-convert": 1, "ecdh-public": 1 };

function info(what, ...values) {
  if (typeof what !== "string" || INFO[what] === undefined) throw new TypeError("nothing is known of this");
  return op_node_crypto_info(what, listOf([], values));
}

const createHash = (name, bytes) => newState("hash", [name, bytes]);
const copyHash = (state, bytes) => newState("hash-copy", [stateOf(state), bytes]);
const createHmac = (name, key) => newState("hmac", [name, handleOf(key)]);
const createCipher = (name, encrypts, key, iv, tagBytes) =>
  newState("cipher", [name, encrypts === true, handleOf(key), iv, tagBytes]);
const update = (state, data) => op_node_crypto_state_update(stateOf(state), data);
const call = (state, method, ...values) => op_node_crypto_state_call(stateOf(state), `${method}`, listOf([], values));

const secretKey = (bytes) => keyOf(op_crypto_key_secret(bytes));
const secretBytes = (key) => op_crypto_key_export(handleOf(key), "raw");
const rawPublic = (key) => op_crypto_key_export(handleOf(key), "raw");
const readKey = (isPrivate, ...values) => keyOf(op_node_crypto_key_read(isPrivate === true, listOf([], values)));
const keyFromJwk = (kty, crv, members) => keyOf(op_node_crypto_key_jwk(kty, crv, listOf([], members)));
const keyToJwk = (key) => op_node_crypto_key_to_jwk(handleOf(key));
const writeKey = (isPrivate, key, ...values) => op_node_crypto_key_write(isPrivate === true, listOf([key], values));
const describe = (key) => op_node_crypto_key_describe(handleOf(key));
const equalKeys = (one, other) => op_node_crypto_key_equals(handleOf(one), handleOf(other));
const publicHalf = (key) => keyOf(op_crypto_key_public(handleOf(key)));

/** The key of a CryptoKey, and what it says of itself; undefined for anything else. */
function fromCryptoKey(key) {
  const slots = slotsOf(key);
  if (slots === undefined) return undefined;
  const handle = keyOf(op_node_crypto_key_share(slots.handle));
  return { __proto__: null, handle, type: slots.type, extractable: slots.extractable };
}

/** A CryptoKey of what a key is as bytes. */
function toCryptoKey(format, data, algorithm, extractable, usages) {
  return subtle.use().importAtOnce(format, data, algorithm, extractable, usages);
}

function certificate(method, data, ...values) {
  if (method === "signed-by" || method === "belongs-to") return op_node_crypto_certificate(method, data, [handleOf(values[0])]);
  const result = op_node_crypto_certificate(method, data, listOf([], values));
  return method === "public-key" ? keyOf(result) : result;
}

/** The native gives so many bytes at once and no more. */
const RANDOM_BYTES = 65536;

function random(view) {
  if (!ArrayBufferIsView(view)) throw new TypeError("a view was expected");
  const bytes = asBytes(view);
  const length = TypedArrayPrototypeGetByteLength(bytes);
  if (length <= RANDOM_BYTES) {
    op_crypto_random(bytes);
    return;
  }
  for (let at = 0; at < length; at += RANDOM_BYTES) {
    const piece = new Uint8Array(length - at < RANDOM_BYTES ? length - at : RANDOM_BYTES);
    op_crypto_random(piece);
    TypedArrayPrototypeSet(bytes, piece, at);
  }
}

const isOperationError = (error) => webidl.isObject(error) && error instanceof DOMException;

module.exports = {
  __proto__: null,
  run, runSync, info, createHash, copyHash, createHmac, createCipher, update, call, secretKey, secretBytes, rawPublic, readKey,
  keyFromJwk, keyToJwk, writeKey, describe, equalKeys, publicHalf, fromCryptoKey, toCryptoKey, certificate, random,
  randomUUID: () => op_crypto_uuid(), equal: (one, other) => op_crypto_equal(one, other), isOperationError, KeyHandle,
  webcrypto: crypto, Crypto, CryptoKey,
  get SubtleCrypto() { return subtle.use().SubtleCrypto; },
};
