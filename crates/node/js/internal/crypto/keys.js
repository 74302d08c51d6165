"use strict";
// KeyObject and what makes keys (https://nodejs.org/api/crypto.html#class-keyobject).

const { Buffer, bytesOf, codes, coded, crypto, give, isBytes, native, toBytes } = require("internal/crypto/util");
const { validateObject, validateOneOf, validateString } = require("internal/validators");

const {
  ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS, ERR_CRYPTO_INVALID_JWK, ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE, ERR_INVALID_ARG_TYPE,
  ERR_INVALID_ARG_VALUE,
} = codes;

/** KeyHandles by KeyObject: nothing of an object shows them. */
const slots = new WeakMap();

function slotsOf(key) {
  const found = slots.get(key);
  if (found === undefined) throw new codes.ERR_INVALID_THIS("KeyObject");
  return found;
}

class KeyObject {
  constructor(type, handle) {
    if (type !== "secret" && type !== "public" && type !== "private") throw new ERR_INVALID_ARG_VALUE("type", type);
    if (typeof handle !== "object" || !(handle instanceof native.KeyHandle)) {
      throw new ERR_INVALID_ARG_TYPE("handle", "object", handle);
    }
    slots.set(this, { type, handle, about: undefined });
  }

  get type() { return slotsOf(this).type; }

  static from(key) {
    const found = native.fromCryptoKey(key);
    if (found === undefined) throw new ERR_INVALID_ARG_TYPE("key", "CryptoKey", key);
    return make(found.type, found.handle);
  }

  equals(other) {
    if (!isKeyObject(other)) throw new ERR_INVALID_ARG_TYPE("otherKeyObject", "KeyObject", other);
    return other.type === this.type && crypto.equalKeys(slotsOf(this).handle, slotsOf(other).handle);
  }
}
// util.types asks by this.
Object.defineProperty(KeyObject.prototype, Symbol.for("hearth.keyObject"), {
  __proto__: null, get() { return slots.has(this); }, configurable: true,
});
Object.defineProperty(KeyObject.prototype, Symbol.toStringTag, { __proto__: null, value: "KeyObject", configurable: true });

const isKeyObject = (value) => typeof value === "object" && value !== null && slots.has(value);

/** What the natives say of a secret, or of a key of a pair. */
function about(key, isSecret) {
  const slot = slotsOf(key);
  if ((slot.type === "secret") !== isSecret) throw new codes.ERR_INVALID_THIS("KeyObject");
  return (slot.about ??= crypto.describe(slot.handle));
}

class SecretKeyObject extends KeyObject {
  get symmetricKeySize() { return about(this, true)[9]; }

  export(options) {
    if (options !== undefined) {
      validateObject(options, "options");
      validateOneOf(options.format, "options.format", [undefined, "buffer", "jwk"]);
      if (options.format === "jwk") return { kty: "oct", k: give(crypto.secretBytes(slotsOf(this).handle), "base64url") };
    }
    return give(crypto.secretBytes(slotsOf(this).handle));
  }

  toCryptoKey(algorithm, extractable, usages) {
    const { name } = typeof algorithm === "string" ? { name: algorithm } : algorithm;
    const format = /^(AES-OCB|ChaCha20-Poly1305)$/i.test(name) ? "raw-secret" : "raw";
    return crypto.toCryptoKey(format, new Uint8Array(crypto.secretBytes(slotsOf(this).handle)), algorithm, extractable, usages);
  }
}

class AsymmetricKeyObject extends KeyObject {
  get asymmetricKeyType() { return about(this, false)[1] || undefined; }

  get asymmetricKeyDetails() {
    const [, type, modulusLength, exponent, hash, mgf1, salt, divisorLength, namedCurve] = about(this, false);
    const details = {};
    if (type === "rsa" || type === "rsa-pss") {
      details.modulusLength = modulusLength;
      details.publicExponent = BigInt(`0x${give(exponent, "hex") || "0"}`);
      if (hash !== undefined) details.hashAlgorithm = hash;
      if (mgf1 !== undefined) details.mgf1HashAlgorithm = mgf1;
      if (salt !== undefined) details.saltLength = salt;
    } else if (type === "dsa") {
      details.modulusLength = modulusLength;
      details.divisorLength = divisorLength;
    } else if (type === "ec") {
      details.namedCurve = namedCurve;
    }
    return details;
  }

  toCryptoKey(algorithm, extractable, usages) {
    const { type, handle } = slotsOf(this);
    const isPrivate = type === "private";
    const der = crypto.writeKey(isPrivate, handle, false, isPrivate ? "pkcs8" : "spki");
    return crypto.toCryptoKey(isPrivate ? "pkcs8" : "spki", new Uint8Array(der), algorithm, extractable, usages);
  }
}

function exportJwk(handle, options) {
  if (options.passphrase !== undefined) {
    throw new ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS("jwk", "does not support encryption");
  }
  const [kty, crv, ...members] = crypto.keyToJwk(handle);
  const jwk = { kty };
  if (crv !== "") jwk.crv = crv;
  for (let i = 0; i < members.length; i += 2) jwk[members[i]] = members[i + 1];
  return jwk;
}

class PublicKeyObject extends AsymmetricKeyObject {
  export(options) { return exportPublic(slotsOf(this).handle, this.asymmetricKeyType, options); }
}

class PrivateKeyObject extends AsymmetricKeyObject {
  export(options) { return exportPrivate(slotsOf(this).handle, this.asymmetricKeyType, options); }
}

function exportPublic(handle, kind, options) {
  if (options?.format === "jwk") return exportJwk(handle, options);
  const { format, type } = outputFormat(options, kind, true, undefined);
  const bytes = crypto.writeKey(false, handle, format === "pem", type);
  return format === "pem" ? give(bytes, "utf8") : give(bytes);
}

function exportPrivate(handle, kind, options) {
  if (options?.format === "jwk") return exportJwk(handle, options);
  const { format, type, cipher, passphrase } = outputFormat(options, kind, false, undefined);
  const bytes = crypto.writeKey(true, handle, format === "pem", type, cipher, passphrase);
  return format === "pem" ? give(bytes, "utf8") : give(bytes);
}

const optionName = (name, prefix) => (prefix === undefined ? `options.${name}` : `${prefix}.${name}`);

/** Format, type and encryption of a key that is to be written. */
function outputFormat(options, kind, isPublic, prefix) {
  validateObject(options, prefix ?? "options");
  const { format, type, cipher } = options;
  let { passphrase } = options;
  if (format !== "pem" && format !== "der") throw new ERR_INVALID_ARG_VALUE(optionName("format", prefix), format);
  const types = isPublic ? ["spki", "pkcs1"] : ["pkcs8", "pkcs1", "sec1"];
  if (!types.includes(type)) throw new ERR_INVALID_ARG_VALUE(optionName("type", prefix), type);
  if (type === "pkcs1" && kind !== "rsa") throw new ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS(type, "can only be used for RSA keys");
  if (type === "sec1" && kind !== "ec") throw new ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS(type, "can only be used for EC keys");
  if (isPublic) return { format, type };
  if (cipher !== undefined && cipher !== null) {
    if (typeof cipher !== "string") throw new ERR_INVALID_ARG_VALUE(optionName("cipher", prefix), cipher);
    if (format === "der" && type !== "pkcs8") throw new ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS(type, "does not support encryption");
    if (typeof passphrase !== "string" && !isBytes(passphrase)) {
      throw new ERR_INVALID_ARG_VALUE(optionName("passphrase", prefix), passphrase);
    }
    if (crypto.info("cipher", cipher) === undefined) throw new codes.ERR_CRYPTO_UNKNOWN_CIPHER();
    passphrase = toBytes(passphrase, "passphrase", options.encoding);
    return { format, type, cipher, passphrase };
  }
  if (passphrase !== undefined) throw new ERR_INVALID_ARG_VALUE(optionName("cipher", prefix), cipher);
  return { format, type };
}

const CLASSES = { __proto__: null, secret: SecretKeyObject, public: PublicKeyObject, private: PrivateKeyObject };
const make = (type, handle) => new CLASSES[type](type, handle);

/** The handle of a KeyObject or CryptoKey that is a secret; undefined for anything else. */
function handleOfKey(key) {
  if (isKeyObject(key)) {
    const { type, handle } = slotsOf(key);
    if (type !== "secret") throw new ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE(type, "secret");
    return handle;
  }
  const found = native.fromCryptoKey(key);
  if (found === undefined) return undefined;
  if (found.type !== "secret") throw new ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE(found.type, "secret");
  return found.handle;
}

const SECRET_TYPES = ["ArrayBuffer", "Buffer", "TypedArray", "DataView", "string", "KeyObject", "CryptoKey"];

function prepareSecretKey(key, encoding, name = "key") {
  return handleOfKey(key) ?? crypto.secretKey(toBytes(key, name, encoding, SECRET_TYPES));
}

/**
 * The key that a function was given for what `wanted` is: "public" (of which a private key has one) or "private".
 * `creates` is for createPublicKey and createPrivateKey, which take no KeyObject of the same kind.
 */
function prepareAsymmetricKey(key, wanted, name = "key", _consumes = true, creates = false) {
  const accept = (type, handle) => {
    if (type === "secret") {
      throw new ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE(type, wanted === "private" || creates ? "private" : "private or public");
    }
    if ((wanted === "private" || creates) && type !== "private") throw new ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE(type, "private");
    return { handle, type };
  };
  const fromObject = (value) => {
    if (isKeyObject(value)) {
      if (creates && wanted === "private") return undefined;
      const slot = slotsOf(value);
      return accept(slot.type, slot.handle);
    }
    const found = native.fromCryptoKey(value);
    if (found === undefined || (creates && wanted === "private")) return undefined;
    return accept(found.type, found.handle);
  };
  const direct = fromObject(key);
  if (direct !== undefined) return direct;
  if (typeof key === "string" || isBytes(key)) return read(wanted, toBytes(key, name), "pem", undefined, undefined);
  if (typeof key === "object" && key !== null && !isKeyObject(key)) {
    const { key: data, encoding, format } = key;
    const inner = fromObject(data);
    if (inner !== undefined) return inner;
    if (format === "jwk") {
      validateObject(data, `${name}.key`);
      return readJwk(data, wanted);
    }
    if (format === "raw-public" || format === "raw-private" || format === "raw-seed") {
      throw new ERR_INVALID_ARG_VALUE("key.format", format, "is not supported here: use 'jwk' or 'der'");
    }
    if (typeof data === "string" || isBytes(data)) {
      const { type } = key;
      let { passphrase } = key;
      if (format !== undefined && format !== "pem" && format !== "der") throw new ERR_INVALID_ARG_VALUE(`${name}.format`, format);
      if (format === "der" || type !== undefined) {
        const known = wanted === "private" ? ["pkcs1", "pkcs8", "sec1"] : ["pkcs1", "spki", "pkcs8", "sec1"];
        if (format === "der" ? !known.includes(type) : type !== undefined && type !== null && !known.includes(type)) {
          throw new ERR_INVALID_ARG_VALUE(`${name}.type`, type);
        }
      }
      if (passphrase !== undefined && passphrase !== null) {
        if (typeof passphrase !== "string" && !isBytes(passphrase)) {
          throw new ERR_INVALID_ARG_VALUE(`${name}.passphrase`, passphrase);
        }
        passphrase = toBytes(passphrase, `${name}.passphrase`, encoding);
      } else {
        passphrase = undefined;
      }
      return read(wanted, toBytes(data, `${name}.key`, encoding), format ?? "pem", type, passphrase);
    }
    throw new ERR_INVALID_ARG_TYPE(`${name}.key`, keyTypes(!(creates && wanted === "private")), data);
  }
  throw new ERR_INVALID_ARG_TYPE(name, keyTypes(!(creates && wanted === "private")), key);
}

function keyTypes(withObjects) {
  const types = ["ArrayBuffer", "Buffer", "TypedArray", "DataView", "string", "object"];
  return withObjects ? [...types.slice(0, 5), "KeyObject", "CryptoKey"] : types;
}

function read(wanted, bytes, format, type, passphrase) {
  const isPrivate = wanted === "private";
  const handle = crypto.readKey(isPrivate, bytes, format === "pem", `${type ?? ""}`, passphrase);
  return { handle, type: isPrivate ? "private" : "public" };
}

const MEMBERS = ["n", "e", "d", "p", "q", "dp", "dq", "qi", "x", "y"];

function readJwk(jwk, wanted) {
  validateOneOf(jwk.kty, "key.kty", ["RSA", "EC", "OKP"]);
  if (jwk.kty !== "RSA") {
    const curves = jwk.kty === "EC" ? ["P-256", "secp256k1", "P-384", "P-521"] : ["Ed25519", "Ed448", "X25519", "X448"];
    if (jwk.kty === "EC") {
      validateString(jwk.crv, "key.crv");
      if (!curves.includes(jwk.crv)) throw coded("ERR_CRYPTO_INVALID_CURVE", "Invalid EC curve name");
    } else {
      validateOneOf(jwk.crv, "key.crv", curves);
    }
  }
  const isPrivate = wanted === "private" || jwk.d !== undefined;
  const needed = { RSA: ["n", "e"], EC: ["x", "y"], OKP: ["x"] }[jwk.kty];
  if (isPrivate && wanted === "private") needed.push(...(jwk.kty === "RSA" ? ["d", "p", "q", "dp", "dq", "qi"] : ["d"]));
  for (const name of needed) validateString(jwk[name], `key.${name}`);
  const members = [];
  for (const name of MEMBERS) {
    if (jwk[name] === undefined) continue;
    if (typeof jwk[name] !== "string") throw new ERR_CRYPTO_INVALID_JWK();
    members.push(name, give(Buffer.from(jwk[name], "base64"), "base64url"));
  }
  let handle;
  try {
    handle = native.keyFromJwk(jwk.kty, jwk.crv ?? "", members);
  } catch {
    throw new ERR_CRYPTO_INVALID_JWK();
  }
  return { handle, type: jwk.d === undefined ? "public" : "private" };
}

// ---- createSecretKey, createPublicKey, createPrivateKey

function createSecretKey(key, encoding) {
  const bytes = toBytes(key, "key", encoding, ["ArrayBuffer", "Buffer", "TypedArray", "DataView", "string"]);
  return make("secret", crypto.secretKey(bytes));
}

function createPublicKey(key) {
  const { handle, type } = prepareAsymmetricKey(key, "public", "key", false, true);
  return make("public", type === "private" ? toPublic(handle) : handle);
}

const toPublic = (handle) => crypto.publicHalf(handle);

function createPrivateKey(key) {
  return make("private", prepareAsymmetricKey(key, "private", "key", false, true).handle);
}

/** A secret of the app's bytes. */
const makeSecret = (bytes) => make("secret", crypto.secretKey(bytesOf(bytes)));

module.exports = {
  KeyObject, PrivateKeyObject, PublicKeyObject, SecretKeyObject, createPrivateKey, createPublicKey, createSecretKey,
  exportPrivate, exportPublic, handleOfKey, isKeyObject, make, makeSecret, outputFormat, prepareAsymmetricKey,
  prepareSecretKey, slotsOf,
};
