// @ts-check
"use strict";
// The built-ins of ECMAScript (https://tc39.es/ecma262/) as they were before any app ran, under the names that Node
// made customary. Nothing of this is reachable by an app, and nothing here looks anything up on an object that an app
// can change. The names are made by reflection:
//
//   Array.isArray                   ArrayIsArray(x)                     statics; Promise.* and Array.* are bound already
//   Array.prototype.push            ArrayPrototypePush(list, x)         methods take `this` first
//   get ArrayBuffer#byteLength      ArrayBufferPrototypeGetByteLength(b)   accessors, `Get` and `Set`
//   Array.prototype[@@iterator]     ArrayPrototypeSymbolIterator(list)
//   Symbol.iterator, Math.max       SymbolIterator, MathMax
//   %TypedArray%, %ArrayIteratorPrototype%, %AsyncIteratorPrototype%: TypedArrayPrototypeSet, ArrayIteratorPrototypeNext,
//   AsyncIteratorPrototype, ...; constructors have their own names.
//
// Mind what built-ins look up by themselves: RegExpPrototypeTest calls `exec`, StringPrototypeReplace calls @@replace, `bind`
// asks for `name` and `length`. Use RegExpPrototypeExec and FunctionPrototypeCall, which are safe as they are.
// ArrayPrototype{Slice,Splice,Map,Filter,Concat} make their result with `constructor[Symbol.species]`, which an app can set
// (so do ArrayBufferPrototypeSlice and TypedArrayPrototype{Slice,Subarray,Map,Filter}): after load, use loops for what an
// app must not see, and `new Uint8Array(buffer, offset, length)`.
// PromisePrototypeCatch, PromisePrototypeFinally and PromiseAll are written anew, because theirs call `then` by name.

const { apply, bind, call } = Function.prototype;
/** uncurryThis(f)(self, ...args) is f.call(self, ...args). A bound `call` is what V8 inlines best. */
const uncurryThis = bind.bind(call);
/** applyBind(f)(self, args) is f.apply(self, args). */
const applyBind = bind.bind(apply);

const {
  defineProperty: ObjectDefineProperty,
  freeze: ObjectFreeze,
  getOwnPropertyDescriptor: ObjectGetOwnPropertyDescriptor,
  getPrototypeOf: ObjectGetPrototypeOf,
  setPrototypeOf: ObjectSetPrototypeOf,
} = /** @type {any} */ (Object);
const { ownKeys: ReflectOwnKeys } = Reflect;
const { iterator: SymbolIterator, toStringTag: SymbolToStringTag } = Symbol;

/**
 * Let go of at the end, as are others that are not constant: the functions below that others use keep all variables of this
 * file alive, and with this one each context would have thousands of functions that no file has taken out of it.
 * @type {any}
 */
let primordials = { __proto__: null };

/** @type {any} */
let nameOf = (key) => {
  if (typeof key === "symbol") {
    // "Symbol.iterator" becomes "SymbolIterator".
    const name = /** @type {string} */ (key.description);
    return `Symbol${name[7].toUpperCase()}${name.slice(8)}`;
  }
  return `${key[0].toUpperCase()}${key.slice(1)}`;
};

/**
 * What a snapshot lacks (see below) is left out of every other load too, lest a test use what production does not have.
 * @type {any}
 */
let tooNew = new Set([
  "AtomicsPause", "ErrorIsError", "PromiseTry", "RegExpEscape", "DatePrototypeToTemporalInstant",
  "IteratorPrototypeSymbolDispose", "AsyncIteratorPrototypeSymbolAsyncDispose",
  "MapPrototypeGetOrInsert", "MapPrototypeGetOrInsertComputed", "WeakMapPrototypeGetOrInsert",
  "WeakMapPrototypeGetOrInsertComputed", "Uint8ArrayFromBase64", "Uint8ArrayFromHex", "Uint8ArrayPrototypeSetFromBase64",
  "Uint8ArrayPrototypeSetFromHex", "Uint8ArrayPrototypeToBase64", "Uint8ArrayPrototypeToHex",
]);

/** @type {any} */
let put = (name, value) => {
  ObjectDefineProperty(primordials, name, { __proto__: null, value, enumerable: true, writable: true, configurable: true });
};

function copyStatics(source, prefix, bound) {
  for (const key of ReflectOwnKeys(source)) {
    if (tooNew.has(`${prefix}${nameOf(key)}`)) continue;
    if (key === "prototype" || key === "length" || key === "name" || key === "caller" || key === "arguments") continue;
    const desc = /** @type {PropertyDescriptor} */ (ObjectGetOwnPropertyDescriptor(source, key));
    const name = nameOf(key);
    if (desc.get !== undefined || desc.set !== undefined) {
      if (desc.get !== undefined) put(`${prefix}Get${name}`, uncurryThis(desc.get));
    } else {
      put(`${prefix}${name}`, bound && typeof desc.value === "function" ? desc.value.bind(source) : desc.value);
    }
  }
}

function copyPrototype(source, prefix) {
  for (const key of ReflectOwnKeys(source)) {
    if (key === "constructor" || tooNew.has(`${prefix}${nameOf(key)}`)) continue;
    const desc = /** @type {PropertyDescriptor} */ (ObjectGetOwnPropertyDescriptor(source, key));
    const name = nameOf(key);
    if (desc.get !== undefined || desc.set !== undefined) {
      if (desc.get !== undefined) put(`${prefix}Get${name}`, uncurryThis(desc.get));
      if (desc.set !== undefined) put(`${prefix}Set${name}`, uncurryThis(desc.set));
    } else if (typeof desc.value === "function") {
      put(`${prefix}${name}`, uncurryThis(desc.value));
      put(`${prefix}${name}Apply`, applyBind(desc.value));
    } else {
      put(`${prefix}${name}`, desc.value);
    }
  }
}

// Functions and namespaces.

const functions = { decodeURI, decodeURIComponent, encodeURI, encodeURIComponent, parseFloat, parseInt, isNaN, isFinite };
for (const name of ReflectOwnKeys(functions)) put(name, functions[name]);

const namespaces = { Atomics, JSON, Math, Reflect };
for (const name of ReflectOwnKeys(namespaces)) copyStatics(namespaces[name], name, false);

// Constructors. Not SharedArrayBuffer, nor anything as new as Error.isError, Promise.try or Uint8Array.fromBase64: V8 adds
// what still has a flag only after a snapshot has been read, so at this point, in the making of one, they do not exist.

const constructors = {
  AggregateError, Array, ArrayBuffer, BigInt, BigInt64Array, BigUint64Array, Boolean, DataView, Date, Error, EvalError,
  FinalizationRegistry, Float32Array, Float64Array, Function, Int16Array, Int32Array, Int8Array, Map, Number, Object,
  Promise, Proxy, RangeError, ReferenceError, RegExp, Set, String, Symbol, SyntaxError, TypeError, URIError, Uint16Array,
  Uint32Array, Uint8Array, Uint8ClampedArray, WeakMap, WeakRef, WeakSet,
};
for (const name of ReflectOwnKeys(constructors)) {
  const constructor = constructors[name];
  put(name, constructor);
  copyStatics(constructor, name, name === "Promise" || name === "Array");
  if (constructor.prototype !== undefined) {
    put(`${/** @type {string} */ (name)}Prototype`, constructor.prototype);
    copyPrototype(constructor.prototype, `${/** @type {string} */ (name)}Prototype`);
  }
}
put("Float16Array", typeof Float16Array === "undefined" ? undefined : Float16Array); // newer than Node's oldest V8

// Intrinsics without a global name.

const ArrayIteratorPrototype = ObjectGetPrototypeOf([][Symbol.iterator]());
const AsyncGeneratorPrototype = ObjectGetPrototypeOf(async function* () {}).prototype;
const intrinsics = {
  TypedArray: ObjectGetPrototypeOf(Uint8Array).prototype,
  ArrayIterator: ArrayIteratorPrototype,
  StringIterator: ObjectGetPrototypeOf(""[Symbol.iterator]()),
  MapIterator: ObjectGetPrototypeOf(new Map()[Symbol.iterator]()),
  SetIterator: ObjectGetPrototypeOf(new Set()[Symbol.iterator]()),
  Iterator: ObjectGetPrototypeOf(ArrayIteratorPrototype),
  Generator: ObjectGetPrototypeOf(function* () {}).prototype,
  AsyncGenerator: AsyncGeneratorPrototype,
  AsyncIterator: ObjectGetPrototypeOf(AsyncGeneratorPrototype),
};
for (const name of ReflectOwnKeys(intrinsics)) {
  put(`${/** @type {string} */ (name)}Prototype`, intrinsics[name]);
  copyPrototype(intrinsics[name], `${/** @type {string} */ (name)}Prototype`);
}
put("TypedArray", ObjectGetPrototypeOf(Uint8Array));
put("AsyncFunction", (async () => {}).constructor);
put("GeneratorFunction", (function* () {}).constructor);
put("AsyncGeneratorFunction", (async function* () {}).constructor);

/** A descriptor that has only what it has: `desc.get` of a plain one would ask Object.prototype, which is the app's. */
put("safeGetOwnPropertyDescriptor", (object, key) => {
  const desc = ObjectGetOwnPropertyDescriptor(object, key);
  return desc === undefined ? undefined : ObjectSetPrototypeOf(desc, null);
});

/** The getter of `stack` that V8 gives to every error: the one that may be called. Undefined where it is plain data. */
put("errorStackGetter", ObjectGetOwnPropertyDescriptor(new Error(), "stack").get);

// Promises: the built-in catch, finally and all look `then` and `resolve` up by name.

const PromiseClass = Promise;
const PromisePrototypeThen = primordials.PromisePrototypeThen;
const PromiseResolve = primordials.PromiseResolve;
put("PromisePrototypeCatch", (promise, onRejected) => PromisePrototypeThen(promise, undefined, onRejected));
put("PromisePrototypeFinally", (promise, onFinally) =>
  PromisePrototypeThen(
    promise,
    (value) => PromisePrototypeThen(PromiseResolve(onFinally()), () => value),
    (reason) => PromisePrototypeThen(PromiseResolve(onFinally()), () => { throw reason; }),
  ));
/** All of an array (no other iterables) of promises or values. */
put("PromiseAll", (list) => new PromiseClass((resolve, reject) => {
  const values = [];
  let pending = list.length;
  if (pending === 0) return resolve(values);
  for (let i = 0; i < list.length; i++) {
    PromisePrototypeThen(PromiseResolve(list[i]), (value) => {
      ObjectDefineProperty(values, i, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
      if (--pending === 0) resolve(values);
    }, reject);
  }
}));
/** Tells V8 that this promise's rejection needs no handler. */
put("markPromiseAsHandled", (promise) => { PromisePrototypeThen(promise, undefined, () => {}); });

// Collections whose methods an app cannot replace: `map.get(k)` finds an own copy on a frozen prototype that inherits
// from nothing. They start from an array (of pairs, for maps) or empty. forEach, and `for (const x of map.keys())`, are
// safe; `for (const [k, v] of map)` is not, since taking the pair apart asks Array.prototype for its iterator.

/** An iterator object with its own `next`, so that for...of over it looks up nothing that an app can change. */
function safeIterator(iterator, next) {
  const safe = { __proto__: null, next: () => next(iterator) };
  ObjectDefineProperty(safe, SymbolIterator, { __proto__: null, value: () => safe });
  return safe;
}

function makeSafe(Safe, Unsafe, iteratorNext) {
  const iterating = ["entries", "keys", "values", Symbol.iterator];
  for (const key of ReflectOwnKeys(Unsafe.prototype)) {
    if (key === "constructor") continue;
    const desc = { __proto__: null, ...ObjectGetOwnPropertyDescriptor(Unsafe.prototype, key) };
    if (iteratorNext !== undefined && iterating.includes(key)) {
      const method = uncurryThis(desc.value);
      desc.value = function () { return safeIterator(method(this), iteratorNext); };
    }
    ObjectDefineProperty(Safe.prototype, key, desc);
  }
  ObjectSetPrototypeOf(Safe.prototype, null);
  ObjectFreeze(Safe.prototype);
  ObjectFreeze(Safe);
  return Safe;
}

put("SafeMap", makeSafe(class SafeMap extends Map {
  /** @param {any[][]} [pairs] */
  constructor(pairs) {
    super();
    if (pairs !== undefined) for (let i = 0; i < pairs.length; i++) this.set(pairs[i][0], pairs[i][1]);
  }
}, Map, primordials.MapIteratorPrototypeNext));
put("SafeSet", makeSafe(class SafeSet extends Set {
  /** @param {any[]} [list] */
  constructor(list) {
    super();
    if (list !== undefined) for (let i = 0; i < list.length; i++) this.add(list[i]);
  }
}, Set, primordials.SetIteratorPrototypeNext));
put("SafeWeakMap", makeSafe(class SafeWeakMap extends (/** @type {any} */ (WeakMap)) { constructor() { super(); } }, WeakMap, undefined));
put("SafeWeakSet", makeSafe(class SafeWeakSet extends WeakSet { constructor() { super(); } }, WeakSet, undefined));
put("SafeWeakRef", makeSafe(class SafeWeakRef extends WeakRef {
  constructor(target) { super(target); }
}, WeakRef, undefined));
put("SafeFinalizationRegistry", makeSafe(class SafeFinalizationRegistry extends FinalizationRegistry {
  constructor(cleanup) { super(cleanup); }
}, FinalizationRegistry, undefined));

const { ArrayIteratorPrototypeNext, ArrayPrototypeSymbolIterator, IteratorPrototype } = primordials;
/** Gives an array own copies of what for...of and spread look up, for the rare place that cannot do without. */
put("safeArrayIterator", (list) => safeIterator(ArrayPrototypeSymbolIterator(list), ArrayIteratorPrototypeNext));

/** The prototype of an iterator class: inherits from %IteratorPrototype% (or the async one), has a tag, no constructor. */
put("createIteratorPrototype", (prototype, tag, parent = IteratorPrototype) => {
  delete prototype.constructor;
  const keys = ReflectOwnKeys(prototype);
  for (let i = 0; i < keys.length; i++) {
    if (typeof keys[i] === "string") ObjectDefineProperty(prototype, keys[i], { __proto__: null, enumerable: true });
  }
  ObjectDefineProperty(prototype, SymbolToStringTag, { __proto__: null, value: tag, configurable: true });
  return ObjectSetPrototypeOf(prototype, parent);
});

module.exports = /** @type {any} */ (ObjectFreeze(primordials));
primordials = nameOf = tooNew = put = undefined;
