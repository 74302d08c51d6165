"use strict";
// The memory of buffers: their class, the pool that small ones share, and of which kind other views are.

const TypedArrayPrototype = Object.getPrototypeOf(Uint8Array.prototype);
const lengthOf = Function.prototype.call.bind(Object.getOwnPropertyDescriptor(TypedArrayPrototype, "length").get);
const byteLengthOf = Function.prototype.call.bind(Object.getOwnPropertyDescriptor(TypedArrayPrototype, "byteLength").get);
const nameOf = Function.prototype.call.bind(Object.getOwnPropertyDescriptor(TypedArrayPrototype, Symbol.toStringTag).get);
const { isKind, kinds } = binding("util");
const ARRAY_BUFFER = kinds.indexOf("isArrayBuffer"), SHARED_ARRAY_BUFFER = kinds.indexOf("isSharedArrayBuffer");

/** The class of all buffers; `Buffer` is the function that makes them, and has the same prototype. */
class FastBuffer extends Uint8Array {
  // Without this explicit one, the default constructor would spread its arguments by Array.prototype[Symbol.iterator].
  constructor(bufferOrLength, byteOffset, length) {
    super(bufferOrLength, byteOffset, length);
  }
}

function isAnyArrayBuffer(value) {
  return isKind(value, ARRAY_BUFFER) || isKind(value, SHARED_ARRAY_BUFFER);
}

/** Also of another realm, and whatever its prototype is. */
function isUint8Array(value) {
  return nameOf(value) === "Uint8Array";
}

let poolSize = 8 * 1024;
let pool = new ArrayBuffer(poolSize);
let poolUsed = 0;

/** Not zeroed where it comes from the pool; less than half of the pool. */
function allocateFromPool(size) {
  if (size > pool.byteLength - poolUsed) {
    pool = new ArrayBuffer(poolSize);
    poolUsed = 0;
  }
  const buffer = new FastBuffer(pool, poolUsed, size);
  poolUsed = (poolUsed + size + 7) & ~7;
  return buffer;
}

function allocate(size) {
  if (size <= 0) return new FastBuffer();
  return size < poolSize >>> 1 ? allocateFromPool(size) : new FastBuffer(size);
}

/** Gives back what the last buffer of the pool does not need. */
function trimPool(buffer, size) {
  poolUsed = (buffer.byteOffset + size + 7) & ~7;
  return new FastBuffer(buffer.buffer, buffer.byteOffset, size);
}

/** The size of the pools to come. */
const poolSettings = {
  get size() { return poolSize; },
  set size(size) { poolSize = size; },
};

module.exports = {
  FastBuffer, TypedArrayPrototype, allocate, allocateFromPool, byteLengthOf, isAnyArrayBuffer, isUint8Array, lengthOf,
  poolSettings, trimPool,
};
