"use strict";
// Diffie-Hellman (https://nodejs.org/api/crypto.html#class-diffiehellman).

const { Buffer, codes, coded, crypto, deprecated, give, isBytes, runEither, toBytes } = require("internal/crypto/util");
const { isKeyObject, prepareAsymmetricKey } = require("internal/crypto/keys");
const { validateFunction, validateInt32, validateObject, validateString } = require("internal/validators");

const { ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE, ERR_INVALID_ARG_TYPE } = codes;

const BYTES = ["string", "ArrayBuffer", "Buffer", "TypedArray", "DataView"];
const kGroup = Symbol("kGroup");
const kKeys = Symbol("kKeys");

/** A number without leading zeros. */
function trimmed(bytes) {
  let at = 0;
  while (at < bytes.length - 1 && bytes[at] === 0) at++;
  return bytes.subarray(at);
}

function DiffieHellman(sizeOrKey, keyEncoding, generator, genEncoding) {
  if (!new.target) return new DiffieHellman(sizeOrKey, keyEncoding, generator, genEncoding);
  if (typeof sizeOrKey !== "number" && typeof sizeOrKey !== "string" && !isBytes(sizeOrKey)) {
    throw new ERR_INVALID_ARG_TYPE("sizeOrKey", ["number", ...BYTES], sizeOrKey);
  }
  if (typeof sizeOrKey === "number") validateInt32(sizeOrKey, "sizeOrKey");
  if (keyEncoding && !Buffer.isEncoding(keyEncoding) && keyEncoding !== "buffer") {
    genEncoding = generator;
    generator = keyEncoding;
    keyEncoding = undefined;
  }
  if (!generator) generator = 2;
  else if (typeof generator === "number") validateInt32(generator, "generator");
  else generator = toBytes(generator, "generator", genEncoding, ["number", ...BYTES]);
  if (typeof generator === "number" && generator < 2) throw badGenerator();
  if (typeof sizeOrKey === "number") {
    if (sizeOrKey < 2) throw dhError("modulus too small", "MODULUS_TOO_SMALL", "0280007E");
    if (typeof generator !== "number") generator = Number(BigInt(`0x${Buffer.from(generator).toString("hex") || "0"}`));
    if (generator < 2) throw badGenerator();
    const [prime, base] = crypto.runSync("dh-parameters", [], [sizeOrKey, generator]);
    this[kGroup] = [new Uint8Array(prime), new Uint8Array(base)];
  } else {
    const base = typeof generator === "number" ? numberBytes(generator) : generator;
    const trimmedBase = trimmed(base);
    if (trimmedBase.length === 0 || (trimmedBase.length === 1 && trimmedBase[0] < 2)) throw badGenerator();
    const prime = toBytes(sizeOrKey, "sizeOrKey", keyEncoding);
    if (typeof generator !== "number" && Buffer.compare(trimmed(prime), trimmedBase) === 0) throw badGenerator();
    this[kGroup] = [prime, base];
  }
  this[kKeys] = { private: undefined, public: undefined };
}

const badGenerator = () => dhError("bad generator", "BAD_GENERATOR", "02800065");
function dhError(reason, code, number) {
  return Object.assign(new Error(`error:${number}:Diffie-Hellman routines::${reason}`), {
    library: "Diffie-Hellman routines", reason, code: `ERR_OSSL_DH_${code}`,
  });
}

function numberBytes(number) {
  const hex = number.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
}

function DiffieHellmanGroup(name) {
  if (!new.target) return new DiffieHellmanGroup(name);
  validateString(name, "name");
  const found = crypto.info("group", name.toLowerCase());
  if (found === undefined) throw new codes.ERR_CRYPTO_UNKNOWN_DH_GROUP();
  this[kGroup] = [new Uint8Array(found[0]), new Uint8Array(found[1])];
  this[kKeys] = { private: undefined, public: undefined };
}

const shared = {
  generateKeys(encoding) {
    const keys = this[kKeys];
    const [own, theirs] = crypto.runSync("dh-keys", [], [...this[kGroup], keys.private]);
    this[kKeys] = { private: new Uint8Array(own), public: new Uint8Array(theirs) };
    return give(theirs, encoding);
  },
  computeSecret(other, inputEncoding, outputEncoding) {
    const public_ = toBytes(other, "otherPublicKey", inputEncoding);
    const own = this[kKeys].private;
    if (own === undefined) throw coded("ERR_CRYPTO_INVALID_STATE", "Cannot compute shared secret without a private key");
    return give(crypto.runSync("dh-secret", [], [...this[kGroup], own, public_]), outputEncoding);
  },
  getPrime(encoding) { return give(trimmed(this[kGroup][0]), encoding); },
  getGenerator(encoding) { return give(trimmed(this[kGroup][1]), encoding); },
  getPublicKey(encoding) {
    if (this[kKeys].public === undefined) throw coded("ERR_CRYPTO_INVALID_STATE", "No public key - did you forget to generate one?");
    return give(this[kKeys].public, encoding);
  },
  getPrivateKey(encoding) {
    if (this[kKeys].private === undefined) throw coded("ERR_CRYPTO_INVALID_STATE", "No private key - did you forget to generate one?");
    return give(this[kKeys].private, encoding);
  },
};

for (const Class of [DiffieHellman, DiffieHellmanGroup]) {
  for (const name of Object.keys(shared)) Class.prototype[name] = shared[name];
}
Object.defineProperty(DiffieHellman.prototype, "verifyError", { __proto__: null, get() { return verifyGroup(this[kGroup]); }, enumerable: true, configurable: true });
Object.defineProperty(DiffieHellmanGroup.prototype, "verifyError", { __proto__: null, get() { return 0; }, enumerable: true, configurable: true });

/** What DH_check of OpenSSL says of a group, for primes that are quickly tested. */
function verifyGroup([prime, base]) {
  const number = (bytes) => BigInt(`0x${Buffer.from(bytes).toString("hex") || "0"}`);
  const [p, g] = [number(prime), number(base)];
  const isPrime = (n) => n > 1n && crypto.runSync("check-prime", [], [numberBytes(n), 10]);
  let code = p.toString(2).length < 512 ? 0x80 : 0;
  if (g <= 1n || g >= p - 1n) code |= 8;
  if (!isPrime(p)) code |= 1;
  else if (!isPrime((p - 1n) / 2n)) code |= 2;
  return code;
}
DiffieHellman.prototype.setPublicKey = function setPublicKey(key, encoding) {
  this[kKeys].public = Uint8Array.from(toBytes(key, "key", encoding));
};
DiffieHellman.prototype.setPrivateKey = function setPrivateKey(key, encoding) {
  this[kKeys].private = Uint8Array.from(toBytes(key, "key", encoding));
};

// ---- Elliptic curves

const kCurve = Symbol("kCurve");

function pointForm(format) {
  if (format === undefined || format === null) return "uncompressed";
  if (format === "compressed" || format === "uncompressed" || format === "hybrid") return format;
  throw new codes.ERR_CRYPTO_ECDH_INVALID_FORMAT(format);
}

function checkCurve(curve) {
  if (!crypto.info("curves").includes(curve) && !["P-256", "P-384", "P-521"].includes(curve)) {
    throw coded("ERR_CRYPTO_INVALID_CURVE", "Invalid EC curve name");
  }
}

function ECDH(curve) {
  if (!new.target) return new ECDH(curve);
  validateString(curve, "curve");
  checkCurve(curve);
  this[kCurve] = curve;
  this[kKeys] = { private: undefined, public: undefined };
}

/** Whether a public key that was set is that of the private one. */
function isPair(curve, keys) {
  return Buffer.compare(new Uint8Array(crypto.info("ecdh-public", curve, keys.private, "uncompressed")), keys.public) === 0;
}

ECDH.convertKey = function convertKey(key, curve, inputEncoding, outputEncoding, format) {
  validateString(curve, "curve");
  const point = toBytes(key, "key", inputEncoding);
  checkCurve(curve);
  return give(crypto.info("ecdh-convert", curve, point, pointForm(format)), outputEncoding);
};

ECDH.prototype.generateKeys = function generateKeys(encoding, format) {
  const [own, theirs] = crypto.runSync("ecdh-keys", [], [this[kCurve]]);
  this[kKeys] = { private: new Uint8Array(own), public: new Uint8Array(theirs) };
  return this.getPublicKey(encoding, format);
};

ECDH.prototype.computeSecret = function computeSecret(other, inputEncoding, outputEncoding) {
  const point = toBytes(other, "otherPublicKey", inputEncoding);
  const keys = this[kKeys];
  if (keys.private === undefined || (keys.wasGiven && !isPair(this[kCurve], keys))) {
    throw coded("ERR_CRYPTO_INVALID_KEYPAIR", "Invalid key pair");
  }
  return give(crypto.runSync("ecdh-secret", [], [this[kCurve], this[kKeys].private, point]), outputEncoding);
};

ECDH.prototype.getPublicKey = function getPublicKey(encoding, format) {
  const form = pointForm(format);
  if (this[kKeys].public === undefined) throw new Error("Failed to get ECDH public key");
  return give(crypto.info("ecdh-convert", this[kCurve], this[kKeys].public, form), encoding);
};

ECDH.prototype.getPrivateKey = function getPrivateKey(encoding) {
  if (this[kKeys].private === undefined) throw new Error("Failed to get ECDH private key");
  return give(this[kKeys].private, encoding);
};

ECDH.prototype.setPrivateKey = function setPrivateKey(key, encoding) {
  const own = Uint8Array.from(toBytes(key, "key", encoding));
  const public_ = new Uint8Array(crypto.info("ecdh-public", this[kCurve], own, "uncompressed"));
  this[kKeys] = { private: own, public: public_ };
  return this;
};

ECDH.prototype.setPublicKey = function setPublicKey(key, encoding) {
  deprecated("DEP0031", "ecdh.setPublicKey() is deprecated.");
  const point = toBytes(key, "key", encoding);
  this[kKeys].public = new Uint8Array(crypto.info("ecdh-convert", this[kCurve], point, "uncompressed"));
  this[kKeys].wasGiven = true;
  return this;
};

// ---- diffieHellman()

function diffieHellman(options, callback) {
  validateObject(options, "options");
  if (callback !== undefined) validateFunction(callback, "callback");
  const { privateKey, publicKey } = options;
  const prepare = (key, name, wanted) => {
    if (isKeyObject(key)) {
      if (wanted === "private" ? key.type !== "private" : key.type !== "public" && key.type !== "private") {
        throw new ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE(key.type, wanted === "private" ? "private" : "private or public");
      }
    }
    return prepareAsymmetricKey(key, wanted, `options.${name}`).handle;
  };
  const own = prepare(privateKey, "privateKey", "private");
  const theirs = prepare(publicKey, "publicKey", "public");
  const [ownType, theirType] = [crypto.describe(own)[1], crypto.describe(theirs)[1]];
  if (ownType !== theirType || !["dh", "ec", "x448", "x25519"].includes(ownType)) {
    const error = Object.assign(new Error("error:03000096:digital envelope routines::operation not supported for this keytype"), {
      library: "digital envelope routines", reason: "operation not supported for this keytype",
      code: "ERR_OSSL_EVP_OPERATION_NOT_SUPPORTED_FOR_THIS_KEYTYPE",
    });
    if (callback === undefined) throw error;
    setTimeout(callback, 0, error);
    return undefined;
  }
  return runEither("agree", [own, theirs], [], give, callback);
}

const getDiffieHellman = (name) => new DiffieHellmanGroup(name);

module.exports = { DiffieHellman, DiffieHellmanGroup, ECDH, diffieHellman, getDiffieHellman };
