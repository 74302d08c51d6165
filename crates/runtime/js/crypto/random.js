// @ts-check
"use strict";
// The Crypto interface (https://w3c.github.io/webcrypto/#crypto-interface) over op_crypto_random and op_crypto_uuid; this
// adds the checks of types and of the quota, and two members that Workers have. No known deviations.

const { SafeSet, TypedArrayPrototypeGetByteLength, TypedArrayPrototypeGetSymbolToStringTag } =
  require("primordials");
const webidl = require("webidl");
const { DOMException, QuotaExceededError } = require("dom/exception");
const { asBytes } = require("infra/bytes");
const { op_crypto_random, op_crypto_uuid } = require("ops");

/** Most apps use no more than this file. */
const subtle = lazy("crypto/subtle");
const digestStream = lazy("crypto/digest_stream");

const TOKEN = { __proto__: null };
const QUOTA = 65536;

const INTEGER_ARRAYS = new SafeSet([
  "Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array", "Uint32Array",
  "BigInt64Array", "BigUint64Array",
]);

class Crypto {
  #brand;

  // @ts-ignore: a hidden argument
  constructor(token = undefined) {
    if (token !== TOKEN) webidl.illegalConstructor();
  }

  get subtle() {
    if (!(#brand in this)) throw webidl.brandError("Failed to read 'subtle' of 'Crypto'");
    return subtle.use().subtle;
  }

  getRandomValues(array) {
    const prefix = "Failed to execute 'getRandomValues' on 'Crypto'";
    if (!(#brand in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 1, prefix);
    array = webidl.converters.ArrayBufferView(array, prefix, "Argument 1");
    if (!INTEGER_ARRAYS.has(TypedArrayPrototypeGetSymbolToStringTag(array))) {
      throw new DOMException(`${prefix}: The view is not of an integer type`, "TypeMismatchError");
    }
    const requested = TypedArrayPrototypeGetByteLength(array);
    if (requested > QUOTA) {
      const message = `${prefix}: ${requested} bytes are more than the ${QUOTA} that one call may ask for`;
      throw new QuotaExceededError(message); // the spec gives it no numbers
    }
    if (requested > 0) op_crypto_random(asBytes(array));
    return array;
  }

  randomUUID() {
    if (!(#brand in this)) throw webidl.brandError("Failed to execute 'randomUUID' on 'Crypto'");
    return op_crypto_uuid();
  }

  /** Of Workers. */
  get DigestStream() {
    if (!(#brand in this)) throw webidl.brandError("Failed to read 'DigestStream' of 'Crypto'");
    return digestStream.use().DigestStream;
  }

  /** Of Workers, where `subtle` has it: whether both are the same bytes, in a time that depends on their length alone. */
  timingSafeEqual(one, other) {
    const prefix = "Failed to execute 'timingSafeEqual' on 'Crypto'";
    if (!(#brand in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 2, prefix);
    return subtle.use().timingSafeEqual(one, other, prefix);
  }
}
webidl.configureInterface(Crypto);

const crypto = new Crypto(/** @type {any} */ (TOKEN));

module.exports = { Crypto, crypto };
