// @ts-check
"use strict";
// Typed arrays and DataViews alike, as byte streams take them: https://streams.spec.whatwg.org/#misc-abstract-ops

const {
  ArrayBufferPrototypeGetDetached, BigInt64Array, BigUint64Array, DataViewPrototypeGetBuffer,
  DataViewPrototypeGetByteLength, DataViewPrototypeGetByteOffset, Float16Array, Float32Array, Float64Array, Int16Array,
  Int32Array, Int8Array, TypedArrayPrototypeGetBuffer, TypedArrayPrototypeGetByteLength, TypedArrayPrototypeGetByteOffset,
  TypedArrayPrototypeGetSymbolToStringTag, Uint16Array, Uint32Array, Uint8Array, Uint8ClampedArray,
} = require("primordials");

/** By the name of a typed array: its constructor. */
const constructors = {
  __proto__: null, BigInt64Array, BigUint64Array, Float16Array, Float32Array, Float64Array, Int16Array, Int32Array,
  Int8Array, Uint16Array, Uint32Array, Uint8Array, Uint8ClampedArray,
};
const elementSizes = {
  __proto__: null, BigInt64Array: 8, BigUint64Array: 8, Float16Array: 2, Float32Array: 4, Float64Array: 8, Int16Array: 2,
  Int32Array: 4, Int8Array: 1, Uint16Array: 2, Uint32Array: 4, Uint8Array: 1, Uint8ClampedArray: 1,
};

function isTyped(view) {
  return TypedArrayPrototypeGetSymbolToStringTag(view) !== undefined;
}
function bufferOf(view) {
  return isTyped(view) ? TypedArrayPrototypeGetBuffer(view) : DataViewPrototypeGetBuffer(view);
}
/** 0 when the buffer is detached. */
function byteLengthOf(view) {
  if (isTyped(view)) return TypedArrayPrototypeGetByteLength(view);
  return ArrayBufferPrototypeGetDetached(DataViewPrototypeGetBuffer(view)) ? 0 : DataViewPrototypeGetByteLength(view);
}
/** 0 when the buffer is detached. */
function byteOffsetOf(view) {
  if (isTyped(view)) return TypedArrayPrototypeGetByteOffset(view);
  return ArrayBufferPrototypeGetDetached(DataViewPrototypeGetBuffer(view)) ? 0 : DataViewPrototypeGetByteOffset(view);
}

/** CloneArrayBuffer, of a part; the bytes are then all of the returned array's buffer. */
function cloneBytes(buffer, byteOffset, byteLength) {
  return new Uint8Array(new Uint8Array(buffer, byteOffset, byteLength));
}

module.exports = { bufferOf, byteLengthOf, byteOffsetOf, cloneBytes, constructors, elementSizes, isTyped };
