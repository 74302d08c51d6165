"use strict";
// Deep equality as node:assert and util.isDeepStrictEqual define it
// (https://nodejs.org/api/assert.html#comparison-details): LOOSE compares primitives by ==, STRICT by Object.is and with
// prototypes, PARTIAL asks whether the expected is found within the actual.

const { keysOf } = binding("util");
const types = require("internal/util/types");
const { isError } = require("internal/util/inspect_errors");

const LOOSE = 0, STRICT = 1, PARTIAL = 2;
/** STRICT without prototypes. */
const PLAIN = 3;

const hasOwn = Object.hasOwn;
const isEnumerable = Function.prototype.call.bind(Object.prototype.propertyIsEnumerable);

/** `memo`: pairs that are being compared already, further up, are taken for equal. */
function equal(left, right, mode, memo) {
  if (left === right) return left !== 0 || mode === LOOSE || Object.is(left, right);
  if (mode !== LOOSE) {
    if (typeof left !== "object" || typeof right !== "object") {
      return typeof left === "number" && Number.isNaN(left) && Number.isNaN(right);
    }
    if (left === null || right === null) return false;
    if (mode === STRICT && Object.getPrototypeOf(left) !== Object.getPrototypeOf(right)) return false;
  } else {
    const leftIsObject = left !== null && typeof left === "object";
    const rightIsObject = right !== null && typeof right === "object";
    if (!leftIsObject || !rightIsObject) {
      if (leftIsObject || rightIsObject || typeof left === "function" || typeof right === "function") return false;
      // eslint-disable-next-line eqeqeq
      return left == right || (Number.isNaN(left) && Number.isNaN(right));
    }
  }
  return equalObjects(left, right, mode, memo);
}

function tagOf(value) {
  return Object.prototype.toString.call(value);
}

function equalObjects(left, right, mode, memo) {
  if (tagOf(left) !== tagOf(right)) return false;
  if (Array.isArray(left) || Array.isArray(right)) return equalArrays(left, right, mode, memo);
  if (types.isDate(left) || types.isDate(right)) {
    if (!types.isDate(left) || !types.isDate(right)) return false;
    const times = [left, right].map((date) => Date.prototype.getTime.call(date));
    if (!Object.is(times[0], times[1])) return false;
  } else if (types.isRegExp(left) || types.isRegExp(right)) {
    if (!types.isRegExp(left) || !types.isRegExp(right)) return false;
    if (left.source !== right.source || left.flags !== right.flags || left.lastIndex !== right.lastIndex) return false;
  } else if (isError(left) || isError(right)) {
    if (!isError(left) || !isError(right) || !equalErrors(left, right, mode, memo)) return false;
  } else if (ArrayBuffer.isView(left) || ArrayBuffer.isView(right)) {
    if (!ArrayBuffer.isView(left) || !ArrayBuffer.isView(right) || !equalViews(left, right, mode)) return false;
    const keys = types.isDataView(left) ? undefined : [keysOf(left, true), keysOf(right, true)];
    return equalKeys(left, right, mode, memo, keys);
  } else if (types.isAnyArrayBuffer(left) || types.isAnyArrayBuffer(right)) {
    if (!types.isAnyArrayBuffer(left) || !types.isAnyArrayBuffer(right)) return false;
    if (!equalBytes(new Uint8Array(left), new Uint8Array(right), mode)) return false;
  } else if (types.isSet(left) || types.isSet(right)) {
    if (!types.isSet(left) || !types.isSet(right) || !sizesFit(left.size, right.size, mode)) return false;
    return remembered(left, right, memo, (inner) =>
      equalSets(left, right, mode, inner) && equalKeys(left, right, mode, inner));
  } else if (types.isMap(left) || types.isMap(right)) {
    if (!types.isMap(left) || !types.isMap(right) || !sizesFit(left.size, right.size, mode)) return false;
    return remembered(left, right, memo, (inner) =>
      equalMaps(left, right, mode, inner) && equalKeys(left, right, mode, inner));
  } else if (types.isBoxedPrimitive(left) || types.isBoxedPrimitive(right)) {
    if (!equalBoxed(left, right)) return false;
  } else if (types.isWeakMap(left) || types.isWeakSet(left) || types.isPromise(left)) {
    return false; // what they hold cannot be compared, and they are not the same
  } else if (left instanceof URL || right instanceof URL) {
    if (!(left instanceof URL && right instanceof URL && left.href === right.href)) return false;
  } else if (types.isCryptoKey(left) || types.isKeyObject(left)) {
    if (typeof left.equals !== "function" || !left.equals(right)) return false;
  }
  return equalKeys(left, right, mode, memo);
}

/** Runs with the pair remembered; a pair that is being compared already is equal as far as it goes. */
function remembered(left, right, memo, compare) {
  const inner = memo ?? { left: new Map(), right: new Map() };
  const known = inner.left.get(left);
  if (known !== undefined && inner.right.has(right)) return known === right;
  const had = inner.right.has(right);
  inner.left.set(left, right);
  inner.right.set(right, left);
  const result = compare(inner);
  if (known === undefined) inner.left.delete(left);
  else inner.left.set(left, known);
  if (!had) inner.right.delete(right);
  return result;
}

function sizesFit(left, right, mode) {
  return mode === PARTIAL ? left >= right : left === right;
}

function equalErrors(left, right, mode, memo) {
  for (const key of ["message", "name"]) {
    const shown = mode === PARTIAL ? isEnumerable(right, key) : isEnumerable(left, key) || isEnumerable(right, key);
    if (!shown && left[key] !== right[key]) return false;
  }
  for (const key of ["cause", "errors"]) {
    if (mode === PARTIAL && !hasOwn(right, key)) continue;
    if (hasOwn(left, key) !== hasOwn(right, key)) return false;
    if (hasOwn(left, key) && !equal(left[key], right[key], mode, memo)) return false;
  }
  return true;
}

function equalViews(left, right, mode) {
  if (types.isFloat32Array(left) || types.isFloat64Array(left) || types.isFloat16Array(left)) {
    if (!sizesFit(left.length, right.length, mode)) return false;
    const same = mode === LOOSE ? (a, b) => a === b || (Number.isNaN(a) && Number.isNaN(b)) : Object.is;
    return right.every((number, i) => same(left[i], number));
  }
  const bytes = (view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  return equalBytes(bytes(left), bytes(right), mode);
}

function equalBytes(left, right, mode) {
  if (!sizesFit(left.length, right.length, mode)) return false;
  return binding("buffer").compare(left.length === right.length ? left : left.subarray(0, right.length), right) === 0;
}

function equalBoxed(left, right) {
  for (const kind of ["Number", "String", "Boolean", "BigInt", "Symbol"]) {
    const is = types[`is${kind}Object`];
    if (!is(left)) continue;
    const { valueOf } = globalThis[kind].prototype;
    return is(right) && Object.is(valueOf.call(left), valueOf.call(right));
  }
  return false;
}

function equalArrays(left, right, mode, memo) {
  if (!Array.isArray(left) || !Array.isArray(right)) return false;
  if (!sizesFit(left.length, right.length, mode)) return false;
  const keys = [keysOf(left, true), keysOf(right, true)];
  return remembered(left, right, memo, (inner) => {
    if (!equalKeys(left, right, mode, inner, keys, false)) return false;
    if (mode === PARTIAL) return partialItems(left, right, inner);
    for (let i = 0; i < left.length; i++) {
      const inLeft = hasOwn(left, i), inRight = hasOwn(right, i);
      if (mode !== LOOSE && inLeft !== inRight) return false;
      if (inLeft || inRight) {
        if (!equal(left[i], right[i], mode, inner)) return false;
      } else {
        // Nothing at this place in both: on to the next that there is.
        const next = Object.keys(left).find((key) => +key > i), nextRight = Object.keys(right).find((key) => +key > i);
        if (next !== nextRight && mode !== LOOSE) return false;
        if (next === undefined && nextRight === undefined) return true;
        i = Math.min(+(next ?? Infinity), +(nextRight ?? Infinity)) - 1;
      }
    }
    return true;
  });
}

/** Whether the expected items are found among the actual ones, in their order. */
function partialItems(left, right, memo) {
  let at = 0;
  for (let i = 0; i < right.length; i++) {
    while (at < left.length && !equal(left[at], right[i], PARTIAL, memo)) at++;
    if (at === left.length) return false;
    at++;
  }
  return true;
}

function shownSymbols(object) {
  return Object.getOwnPropertySymbols(object).filter((symbol) => isEnumerable(object, symbol));
}

function equalKeys(left, right, mode, memo, keys = undefined, remember = true) {
  const leftKeys = keys?.[0] ?? Object.keys(left), rightKeys = keys?.[1] ?? Object.keys(right);
  if (mode !== LOOSE && keys === undefined) {
    leftKeys.push(...shownSymbols(left));
    rightKeys.push(...shownSymbols(right));
  }
  const strings = (list) => (mode === LOOSE ? list.filter((key) => typeof key === "string") : list);
  const wanted = strings(rightKeys);
  if (mode !== PARTIAL && strings(leftKeys).length !== wanted.length) return false;
  for (const key of wanted) if (!isEnumerable(left, key)) return false;
  if (wanted.length === 0) return true;
  const all = (inner) => wanted.every((key) => equal(left[key], right[key], mode, inner));
  return remember ? remembered(left, right, memo, all) : all(memo);
}

// ---- Sets and maps: what is not found as such is compared with each that is left

/** Whether each of `wanted` has an own partner among the items. */
function matchAll(wanted, items, fits) {
  const free = new Set(items);
  for (const one of wanted) {
    let found = false;
    for (const item of free) {
      if (!fits(item, one)) continue;
      free.delete(item);
      found = true;
      break;
    }
    if (!found) return false;
  }
  return true;
}

/** Whether a collection that has no such key can have an equal one: an object, or loosely a primitive. */
function mayHaveEqual(value, mode) {
  if (typeof value === "object" && value !== null) return true;
  return mode === LOOSE && typeof value !== "function" && typeof value !== "symbol";
}

function equalSets(left, right, mode, memo) {
  const wanted = [];
  for (const value of right) {
    if (typeof value === "object" && value !== null ? left.has(value) && mode !== PARTIAL : left.has(value)) continue;
    if (!mayHaveEqual(value, mode)) return false;
    wanted.push(value);
  }
  if (wanted.length === 0) return true;
  const free = [];
  for (const value of left) if (mayHaveEqual(value, mode) && (mode === PARTIAL || !right.has(value))) free.push(value);
  return matchAll(wanted, free, (item, one) => equal(item, one, mode, memo));
}

function equalMaps(left, right, mode, memo) {
  const wanted = [];
  for (const [key, value] of right) {
    if (left.has(key) && equal(left.get(key), value, mode, memo)) continue;
    if (!mayHaveEqual(key, mode)) return false;
    wanted.push(key);
  }
  if (wanted.length === 0) return true;
  const free = [];
  for (const [key, value] of left) {
    const taken = right.has(key) && equal(value, right.get(key), mode, memo);
    if (mayHaveEqual(key, mode) && !taken) free.push(key);
  }
  return matchAll(wanted, free, (item, one) =>
    equal(item, one, mode, memo) && equal(left.get(item), right.get(one), mode, memo));
}

module.exports = {
  isDeepEqual: (left, right) => equal(left, right, LOOSE, undefined),
  isDeepStrictEqual: (left, right, skipPrototype = false) => equal(left, right, skipPrototype ? PLAIN : STRICT, undefined),
  isPartialStrictEqual: (left, right) => equal(left, right, PARTIAL, undefined),
};
