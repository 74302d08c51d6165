"use strict";
// util.types (https://nodejs.org/api/util.html#utiltypes): of which built-in kind a value is, whatever its prototype says.

const { isKind, kinds } = binding("util");

const types = {};
for (const [kind, name] of kinds.entries()) {
  types[name] = { [name]: (value) => isKind(value, kind) }[name];
}

const tagOf = Function.prototype.call.bind(
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get);
for (const name of [
  "Uint8Array", "Uint8ClampedArray", "Uint16Array", "Uint32Array", "Int8Array", "Int16Array", "Int32Array", "Float16Array",
  "Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array",
]) {
  types[`is${name}`] = { [`is${name}`]: (value) => tagOf(value) === name }[`is${name}`];
}

Object.assign(types, {
  isAnyArrayBuffer: (value) => types.isArrayBuffer(value) || types.isSharedArrayBuffer(value),
  isArrayBufferView: ArrayBuffer.isView,
  isBoxedPrimitive: (value) => types.isNumberObject(value) || types.isStringObject(value) || types.isBooleanObject(value) ||
    types.isBigIntObject(value) || types.isSymbolObject(value),
  isTypedArray: (value) => tagOf(value) !== undefined,
  isKeyObject,
  isCryptoKey: (value) => typeof CryptoKey === "function" && value instanceof CryptoKey,
  isEventTarget: (value) => value instanceof EventTarget,
});

/** Of node:crypto, which need not be loaded to know: its KeyObject has this tag. */
function isKeyObject(value) {
  return typeof value === "object" && value !== null && value[Symbol.for("hearth.keyObject")] === true;
}

module.exports = types;
