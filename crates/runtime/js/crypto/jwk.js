// @ts-check
"use strict";
// JsonWebKey (https://w3c.github.io/webcrypto/#JsonWebKey-dictionary): reading, the checks that all algorithms share, and writing.

const { ArrayPrototypePush, ObjectSetPrototypeOf } = require("primordials");
const webidl = require("webidl");
const { converters } = webidl;
const { DOMException } = require("dom/exception");
const { define, has, plainList } = require("crypto/key");

const member = (key, converter) =>
  ({ __proto__: null, key, converter, required: false, defaultValue: undefined, options: undefined });
const text = (key) => member(key, converters.DOMString);
const convertOtherPrime = webidl.createDictionaryConverter("RsaOtherPrimesInfo", [text("r"), text("d"), text("t")]);
const convert = webidl.createDictionaryConverter("JsonWebKey", [
  text("kty"), text("use"), member("key_ops", webidl.createSequenceConverter(converters.DOMString)), text("alg"),
  member("ext", converters.boolean), text("crv"), text("x"), text("y"), text("d"), text("n"), text("e"), text("p"), text("q"),
  text("dp"), text("dq"), text("qi"), member("oth", webidl.createSequenceConverter(convertOtherPrime)), text("k"),
]);

/** Members that hold key material. */
const MATERIAL = ["n", "e", "d", "p", "q", "dp", "dq", "qi", "x", "y", "k"];

function dataError(prefix, problem) {
  return new DOMException(`${prefix}: ${problem}`, "DataError");
}

/** What does not depend on the algorithm. `use` is what the key is for, where the algorithm says so. */
function check(jwk, kty, use, extractable, usages, prefix) {
  if (jwk.kty !== kty) throw dataError(prefix, `The key's member "kty" must be "${kty}"`);
  if (usages.length > 0 && jwk.use !== undefined && jwk.use !== use) {
    throw dataError(prefix, `The key's member "use" must be "${use}"`);
  }
  const operations = jwk.key_ops;
  if (operations !== undefined) {
    for (let i = 0; i < operations.length; i++) {
      for (let j = 0; j < i; j++) {
        if (operations[i] === operations[j]) throw dataError(prefix, 'The key\'s member "key_ops" has a value twice');
      }
    }
    for (let i = 0; i < usages.length; i++) {
      if (!has(operations, usages[i])) throw dataError(prefix, `The key's member "key_ops" has no "${usages[i]}"`);
    }
  }
  if (jwk.ext === false && extractable) throw dataError(prefix, 'The key\'s member "ext" says that it is not extractable');
}

/** [name, value, ...] of the key material. */
function materialOf(jwk) {
  const pairs = [];
  for (let i = 0; i < MATERIAL.length; i++) {
    if (jwk[MATERIAL[i]] !== undefined) {
      ArrayPrototypePush(pairs, MATERIAL[i]);
      ArrayPrototypePush(pairs, jwk[MATERIAL[i]]);
    }
  }
  return pairs;
}

/** A key that was exported, for the app: an ordinary object. `members` are more of them, [name, value, ...]. */
function create(members, material, { extractable, usages }) {
  const jwk = {};
  for (let i = 0; i < members.length; i += 2) if (members[i + 1] !== undefined) define(jwk, members[i], members[i + 1]);
  for (let i = 0; i < material.length; i += 2) define(jwk, material[i], material[i + 1]);
  define(jwk, "key_ops", plainList(usages));
  define(jwk, "ext", extractable);
  return jwk;
}

/** The same object without prototypes, so that JSON.stringify finds no toJSON of the app's. */
function withoutPrototypes(jwk) {
  ObjectSetPrototypeOf(jwk.key_ops, null);
  return ObjectSetPrototypeOf(jwk, null);
}

module.exports = { convert, check, materialOf, create, withoutPrototypes, dataError };
