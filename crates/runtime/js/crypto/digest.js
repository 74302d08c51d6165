// @ts-check
"use strict";
// SubtleCrypto.digest (https://w3c.github.io/webcrypto/#SubtleCrypto-method-digest) over op_crypto_digest.
//
// Deviations: no other method of SubtleCrypto exists yet. The digest is computed at once, before the promise is given.

const { PromiseReject, PromiseResolve, SafeMap } = require("primordials");
const webidl = require("webidl");
const { converters } = webidl;
const { DOMException } = require("dom/exception");
const { asBytes, asciiLowercase } = require("infra/bytes");
const { op_crypto_digest } = require("ops");

const TOKEN = { __proto__: null };

/** Lower case to the registered spelling. */
const digests = new SafeMap([["sha-1", "SHA-1"], ["sha-256", "SHA-256"], ["sha-384", "SHA-384"], ["sha-512", "SHA-512"]]);

const convertAlgorithm = webidl.createDictionaryConverter("Algorithm", [
  { key: "name", converter: converters.DOMString, required: true },
]);

/** "Normalize an algorithm", for operations whose algorithms have no parameters; `registered` as `digests` above. */
function normalizeAlgorithm(algorithm, registered, prefix) {
  const name = typeof algorithm === "string" ? algorithm : convertAlgorithm(algorithm, prefix, "Argument 1").name;
  const known = registered.get(asciiLowercase(name));
  if (known === undefined) throw new DOMException(`${prefix}: Unrecognized algorithm name`, "NotSupportedError");
  return known;
}

class SubtleCrypto {
  #brand;

  // @ts-ignore: a hidden argument
  constructor(token = undefined) {
    if (token !== TOKEN) webidl.illegalConstructor();
  }

  digest(algorithm, data) {
    // A method that returns a promise rejects it, whatever goes wrong.
    try {
      const prefix = "Failed to execute 'digest' on 'SubtleCrypto'";
      if (!(#brand in this)) throw webidl.brandError(prefix);
      webidl.requiredArguments(arguments.length, 2, prefix);
      // (object or DOMString)
      if (!webidl.isObject(algorithm)) algorithm = converters.DOMString(algorithm, prefix, "Argument 1");
      data = converters.BufferSource(data, prefix, "Argument 2");
      const name = normalizeAlgorithm(algorithm, digests, prefix);
      // No copy is needed: the op has read the bytes before other code can change them.
      return PromiseResolve(op_crypto_digest(name, asBytes(data)));
    } catch (error) {
      return PromiseReject(error);
    }
  }
}
webidl.configureInterface(SubtleCrypto);

const subtle = new SubtleCrypto(/** @type {any} */ (TOKEN));

module.exports = { SubtleCrypto, subtle };
