// @ts-check
"use strict";
// DigestStream of Workers (https://developers.cloudflare.com/workers/runtime-apis/web-crypto/#constructors): a WritableStream
// that computes a digest of what is written to it. Deviation: strings are refused, as other chunks that are no bytes.

const {
  ArrayBufferIsView, BigInt, Promise, PromisePrototypeThen, TypedArrayPrototypeGetByteLength, TypeError,
} = require("primordials");
const webidl = require("webidl");
const { asBytes } = require("infra/bytes");
const { normalize } = require("crypto/algorithms");
const { WritableStream } = require("streams/writable");
const { op_node_crypto_state_call, op_node_crypto_state_new, op_node_crypto_state_update } = require("ops");

const HASHES = {
  __proto__: null,
  "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512", "SHA3-256": "sha3-256",
  "SHA3-384": "sha3-384", "SHA3-512": "sha3-512", "MD5": "md5",
};

class DigestStream extends WritableStream {
  #digest;
  #hash;

  constructor(algorithm) {
    const prefix = "Failed to construct 'DigestStream'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    algorithm = webidl.isObject(algorithm) ? algorithm : webidl.converters.DOMString(algorithm, prefix, "Argument 1");
    const name = algorithm === "MD5" ? "MD5" : normalize(algorithm, "digest", prefix).name;
    // The state lives as long as this object, which the sink holds.
    const hash = { __proto__: null, handle: 0, written: 0 };
    hash.handle = op_node_crypto_state_new(hash, "hash", [HASHES[name], undefined]);
    let resolve, reject;
    const digest = new Promise((onValue, onError) => {
      resolve = onValue;
      reject = onError;
    });
    // An app that waits for the writer alone hears of an error there.
    PromisePrototypeThen(digest, undefined, () => {});
    super({
      __proto__: null,
      write(chunk) {
        if (!ArrayBufferIsView(chunk) && !webidl.isArrayBuffer(chunk)) {
          const error = new TypeError("DigestStream: a chunk is no bytes");
          reject(error);
          throw error;
        }
        const piece = asBytes(chunk);
        op_node_crypto_state_update(hash.handle, piece);
        hash.written += TypedArrayPrototypeGetByteLength(piece);
      },
      close() { resolve(op_node_crypto_state_call(hash.handle, "finish", [])); },
      abort(reason) { reject(reason); },
    });
    this.#digest = digest;
    this.#hash = hash;
  }

  get digest() {
    if (!(#digest in this)) throw webidl.brandError("Failed to read 'digest' of 'DigestStream'");
    return this.#digest;
  }

  get bytesWritten() {
    if (!(#digest in this)) throw webidl.brandError("Failed to read 'bytesWritten' of 'DigestStream'");
    return BigInt(this.#hash.written);
  }
}
webidl.configureInterface(DigestStream);

module.exports = { DigestStream };
