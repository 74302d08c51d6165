"use strict";
// generateKeyPair, generateKey (https://nodejs.org/api/crypto.html#cryptogeneratekeypairtype-options-callback). DSA keys have
// the divisor that OpenSSL chooses; `paramEncoding: "explicit"` is written for EC keys.

const { Buffer, codes, coded, crypto, native, nodeError, toBytes } = require("internal/crypto/util");
const { exportPrivate, exportPublic, make, makeSecret, outputFormat } = require("internal/crypto/keys");
const {
  validateBuffer, validateFunction, validateInt32, validateInteger, validateObject, validateString, validateUint32,
} = require("internal/validators");

const { ERR_INCOMPATIBLE_OPTION_PAIR, ERR_INVALID_ARG_VALUE, ERR_MISSING_OPTION } = codes;

const OKP = { __proto__: null, ed25519: "Ed25519", ed448: "Ed448", x25519: "X25519", x448: "X448" };

function exponentBytes(number) {
  const hex = number.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
}

/** What the natives call the pair, and what makes it. */
function spec(type, options) {
  if (OKP[type] !== undefined) return ["okp", OKP[type]];
  if (/^ml-dsa-(44|65|87)$/.test(type)) return ["ml-dsa", Number(type.slice(7))];
  if (/^ml-kem-(512|768|1024)$/.test(type)) return ["ml-kem", Number(type.slice(7))];
  switch (type) {
    case "rsa":
    case "rsa-pss": {
      validateObject(options, "options");
      const { modulusLength, publicExponent = 0x10001 } = options;
      validateUint32(modulusLength, "options.modulusLength");
      validateUint32(publicExponent, "options.publicExponent");
      const base = [type, modulusLength, exponentBytes(publicExponent)];
      if (type === "rsa") return base;
      const { hash, mgf1Hash, hashAlgorithm, mgf1HashAlgorithm, saltLength } = options;
      if (saltLength !== undefined) validateInt32(saltLength, "options.saltLength", 0);
      if (hashAlgorithm !== undefined) validateString(hashAlgorithm, "options.hashAlgorithm");
      if (mgf1HashAlgorithm !== undefined) validateString(mgf1HashAlgorithm, "options.mgf1HashAlgorithm");
      const pick = (old, oldName, now, nowName) => {
        if (old === undefined) return now;
        validateString(old, `options.${oldName}`);
        if (now !== undefined && now !== old) throw new ERR_INVALID_ARG_VALUE(`options.${oldName}`, old);
        return old;
      };
      const main = pick(hash, "hash", hashAlgorithm);
      const mgf1 = pick(mgf1Hash, "mgf1Hash", mgf1HashAlgorithm);
      const isUnknown = (name) => name !== undefined && crypto.info("digest", name) === undefined;
      if (isUnknown(main)) throw new codes.ERR_CRYPTO_INVALID_DIGEST(main);
      if (isUnknown(mgf1)) throw coded("ERR_CRYPTO_INVALID_DIGEST", `Invalid MGF1 digest: ${mgf1}`);
      return [...base, main?.toLowerCase(), mgf1?.toLowerCase(), saltLength];
    }
    case "dsa": {
      validateObject(options, "options");
      validateUint32(options.modulusLength, "options.modulusLength");
      if (options.divisorLength !== undefined && options.divisorLength !== null) {
        validateInt32(options.divisorLength, "options.divisorLength", 0);
      }
      return ["dsa", options.modulusLength];
    }
    case "ec": {
      validateObject(options, "options");
      const { namedCurve, paramEncoding } = options;
      validateString(namedCurve, "options.namedCurve");
      if (paramEncoding !== undefined && paramEncoding !== null && paramEncoding !== "named" && paramEncoding !== "explicit") {
        throw new ERR_INVALID_ARG_VALUE("options.paramEncoding", paramEncoding);
      }
      return ["ec", namedCurve, paramEncoding === "explicit"];
    }
    case "dh": {
      validateObject(options, "options");
      const { group, primeLength, prime, generator } = options;
      if (group !== undefined && group !== null) {
        for (const [name, value] of [["prime", prime], ["primeLength", primeLength], ["generator", generator]]) {
          if (value !== undefined && value !== null) throw new ERR_INCOMPATIBLE_OPTION_PAIR("group", name);
        }
        validateString(group, "options.group");
        const found = crypto.info("group", group.toLowerCase());
        if (found === undefined) throw new codes.ERR_CRYPTO_UNKNOWN_DH_GROUP();
        return ["dh", new Uint8Array(found[0]), new Uint8Array(found[1])];
      }
      if (prime !== undefined && prime !== null) {
        if (primeLength !== undefined && primeLength !== null) throw new ERR_INCOMPATIBLE_OPTION_PAIR("prime", "primeLength");
        validateBuffer(prime, "options.prime");
      } else if (primeLength !== undefined && primeLength !== null) {
        validateInt32(primeLength, "options.primeLength", 0);
      } else {
        throw new ERR_MISSING_OPTION("At least one of the group, prime, or primeLength options");
      }
      if (generator !== undefined && generator !== null) validateInt32(generator, "options.generator", 0);
      if (prime !== undefined && prime !== null) return ["dh", toBytes(prime, "prime"), exponentBytes(generator ?? 2)];
      return ["dh-prime", primeLength, generator ?? 2];
    }
    default:
      throw new ERR_INVALID_ARG_VALUE("type", type, "must be a supported key type");
  }
}

function prepare(type, options) {
  validateString(type, "type");
  const values = spec(type, options);
  let publicEncoding;
  let privateEncoding;
  if (options !== undefined) {
    validateObject(options, "options");
    ({ publicKeyEncoding: publicEncoding, privateKeyEncoding: privateEncoding } = options);
    for (const [encoding, name, isPublic] of [[publicEncoding, "publicKeyEncoding", true], [privateEncoding, "privateKeyEncoding", false]]) {
      if (encoding === undefined || encoding === null) continue;
      if (typeof encoding !== "object") throw new ERR_INVALID_ARG_VALUE(`options.${name}`, encoding);
      if (encoding.format !== "jwk") outputFormat(encoding, type, isPublic, `options.${name}`);
    }
  }
  const convert = ([publicKey, privateKey]) => ({
    publicKey: publicEncoding ? exportPublic(publicKey, type, publicEncoding) : make("public", publicKey),
    privateKey: privateEncoding ? exportPrivate(privateKey, type, privateEncoding) : make("private", privateKey),
  });
  return { values, convert };
}

function generateKeyPair(type, options, callback) {
  if (typeof options === "function") {
    callback = options;
    options = undefined;
  }
  const { values, convert } = prepare(type, options);
  validateFunction(callback, "callback");
  const run = async () => convert(await native.run("pair", [], values));
  run().then(
    ({ publicKey, privateKey }) => setTimeout(callback, 0, null, publicKey, privateKey),
    (error) => setTimeout(callback, 0, nodeError(error)),
  );
}

Object.defineProperty(generateKeyPair, Symbol.for("nodejs.util.promisify.custom"), {
  __proto__: null,
  value: (type, options) => new Promise((resolve, reject) => {
    generateKeyPair(type, options, (error, publicKey, privateKey) => {
      if (error) reject(error);
      else resolve({ publicKey, privateKey });
    });
  }),
  configurable: true,
});

function generateKeyPairSync(type, options) {
  const { values, convert } = prepare(type, options);
  return convert(crypto.runSync("pair", [], values));
}

function newSecret(type, options) {
  validateString(type, "type");
  validateObject(options, "options");
  const { length } = options;
  if (type === "hmac") {
    validateInteger(length, "options.length", 8, 0x7fffffff);
  } else if (type === "aes") {
    if (length !== 128 && length !== 192 && length !== 256) {
      throw new ERR_INVALID_ARG_VALUE("options.length", length, "must be one of: 128, 192, 256");
    }
  } else {
    throw new ERR_INVALID_ARG_VALUE("type", type, "must be a supported key type");
  }
  const bytes = new Uint8Array(Math.floor(length / 8));
  return () => {
    crypto.random(bytes);
    return makeSecret(bytes);
  };
}

function generateKey(type, options, callback) {
  if (typeof options === "function") {
    callback = options;
    options = undefined;
  }
  const make = newSecret(type, options);
  validateFunction(callback, "callback");
  setTimeout(() => callback(null, make()), 0);
}

function generateKeySync(type, options) {
  return newSecret(type, options)();
}

module.exports = { generateKey, generateKeyPair, generateKeyPairSync, generateKeySync };
