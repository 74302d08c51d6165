// @ts-check
"use strict";
// Web IDL (https://webidl.spec.whatwg.org/): conversion of arguments, and the shape of interfaces.
//
// A converter is `(value, prefix, context, options) => converted`; it throws a TypeError that begins with `prefix`
// ("Failed to execute 'append' on 'Headers'") and names `context` ("Argument 1"). Both may be left out. Options:
// enforceRange and clamp for integers, treatNullAsEmptyString for DOMString, allowShared and allowResizable for buffers.
// Dictionaries come back as objects without a prototype, sequences as arrays, records as arrays of [key, value] pairs.
//
// Deviations: callback functions are returned as they are, so the caller keeps the async context if it wants one; a
// growable SharedArrayBuffer passes wherever a SharedArrayBuffer does.

const {
  ArrayBufferIsView, ArrayBufferPrototypeGetByteLength, ArrayBufferPrototypeGetResizable, ArrayFrom,
  ArrayPrototypePush, ArrayPrototypeSort, DataView, DataViewPrototypeGetBuffer, FunctionPrototypeCall, IteratorPrototype, MathFloor, MathMax,
  MathMin, MathRound, MathTrunc, NumberIsFinite, NumberIsNaN, ObjectDefineProperty,
  ObjectPrototypeHasOwnProperty, PromiseResolve, ReflectApply, ReflectOwnKeys, SafeSet,
  StringPrototypeCharCodeAt, StringPrototypeToWellFormed, SymbolIterator, SymbolToStringTag, TypeError,
  TypedArrayPrototypeGetBuffer, TypedArrayPrototypeGetSymbolToStringTag, createIteratorPrototype,
  safeGetOwnPropertyDescriptor,
} = require("primordials");

/** The TypeError of a failed conversion. */
function conversionError(prefix, context, problem) {
  const what = `${context === undefined ? "Value" : context} ${problem}`;
  return new TypeError(prefix === undefined ? what : `${prefix}: ${what}`);
}

function isObject(value) {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** @type {Record<string, (value: any, prefix?: string, context?: string, options?: any) => any>} */
const converters = { __proto__: /** @type {any} */ (null) };

converters.any = (value) => value;
converters.undefined = () => undefined;
converters.boolean = (value) => !!value;
converters.object = (value, prefix, context) => {
  if (!isObject(value)) throw conversionError(prefix, context, "is not an object");
  return value;
};

// ---- Numbers

function toNumber(value, prefix, context) {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") throw conversionError(prefix, context, "is a BigInt and cannot be converted to a number");
  if (typeof value === "symbol") throw conversionError(prefix, context, "is a symbol and cannot be converted to a number");
  return +value;
}

/** The integer conversions differ in their bounds alone; 64 bits are bounded by what a double can tell apart. */
function createIntegerConverter(bits, signed) {
  const lower = !signed ? 0 : bits === 64 ? -(2 ** 53 - 1) : -(2 ** (bits - 1));
  const upper = bits === 64 ? 2 ** 53 - 1 : signed ? 2 ** (bits - 1) - 1 : 2 ** bits - 1;
  const modulus = 2 ** bits;
  const signBoundary = 2 ** (bits - 1);

  return (value, prefix, context, options) => {
    let x = toNumber(value, prefix, context);
    if (options !== undefined) {
      if (options.enforceRange) {
        if (!NumberIsFinite(x)) throw conversionError(prefix, context, "is not a finite number");
        x = MathTrunc(x);
        if (x < lower || x > upper) throw conversionError(prefix, context, `is outside the range from ${lower} to ${upper}`);
        return x + 0; // -0 becomes +0
      }
      if (options.clamp && !NumberIsNaN(x)) {
        x = MathMin(MathMax(x, lower), upper);
        // To the nearest integer, ties to the even one.
        const floor = MathFloor(x);
        x = x - floor === 0.5 ? (floor % 2 === 0 ? floor : floor + 1) : MathRound(x);
        return x + 0;
      }
    }
    if (x >= lower && x <= upper) return MathTrunc(x) + 0;
    if (!NumberIsFinite(x)) return 0;
    x = MathTrunc(x) % modulus; // exact: both are doubles
    if (x < 0) x += modulus;
    if (signed && x >= signBoundary) x -= modulus;
    return x + 0;
  };
}

converters.byte = createIntegerConverter(8, true);
converters.octet = createIntegerConverter(8, false);
converters.short = createIntegerConverter(16, true);
converters["unsigned short"] = createIntegerConverter(16, false);
converters.long = createIntegerConverter(32, true);
converters["unsigned long"] = createIntegerConverter(32, false);
converters["long long"] = createIntegerConverter(64, true);
converters["unsigned long long"] = createIntegerConverter(64, false);
converters["unrestricted double"] = toNumber;
converters.double = (value, prefix, context) => {
  const x = toNumber(value, prefix, context);
  if (!NumberIsFinite(x)) throw conversionError(prefix, context, "is not a finite number");
  return x;
};

// ---- Strings

function toDOMString(value, prefix, context, options) {
  if (typeof value === "string") return value;
  if (value === null && options !== undefined && options.treatNullAsEmptyString) return "";
  if (typeof value === "symbol") throw conversionError(prefix, context, "is a symbol and cannot be converted to a string");
  return `${value}`;
}

converters.DOMString = toDOMString;
converters.ByteString = (value, prefix, context) => {
  const text = toDOMString(value, prefix, context, undefined);
  for (let i = 0; i < text.length; i++) {
    if (StringPrototypeCharCodeAt(text, i) > 0xff) {
      throw conversionError(prefix, context, `has a character at index ${i} that does not fit into a byte`);
    }
  }
  return text;
};
converters.USVString = (value, prefix, context, options) =>
  StringPrototypeToWellFormed(toDOMString(value, prefix, context, options));

// ---- Buffers. Detached ones pass, as the spec has it.

function isArrayBuffer(value) {
  if (typeof value !== "object" || value === null) return false;
  try {
    ArrayBufferPrototypeGetByteLength(value);
    return true;
  } catch {
    return false;
  }
}

/** SharedArrayBuffer is not among the primordials; but a DataView can be made of it and of ArrayBuffers only. */
function isSharedArrayBuffer(value) {
  if (typeof value !== "object" || value === null || isArrayBuffer(value)) return false;
  try {
    new DataView(value);
    return true;
  } catch {
    return false;
  }
}

function isTypedArray(value) {
  return TypedArrayPrototypeGetSymbolToStringTag(value) !== undefined;
}

function isUint8Array(value) {
  return TypedArrayPrototypeGetSymbolToStringTag(value) === "Uint8Array";
}

/** Sees to [AllowShared] and [AllowResizable] of the buffer beneath a value. */
function checkBuffer(buffer, prefix, context, options) {
  if (isArrayBuffer(buffer)) {
    if (ArrayBufferPrototypeGetResizable(buffer) && !(options !== undefined && options.allowResizable)) {
      throw conversionError(prefix, context, "is backed by a resizable ArrayBuffer");
    }
    return;
  }
  if (!(options !== undefined && options.allowShared)) throw conversionError(prefix, context, "is backed by a SharedArrayBuffer");
}

converters.ArrayBuffer = (value, prefix, context, options) => {
  const shared = options !== undefined && options.allowShared && isSharedArrayBuffer(value);
  if (!shared && !isArrayBuffer(value)) throw conversionError(prefix, context, "is not an ArrayBuffer");
  checkBuffer(value, prefix, context, options);
  return value;
};

function checkView(value, prefix, context, options) {
  const buffer = isTypedArray(value) ? TypedArrayPrototypeGetBuffer(value) : DataViewPrototypeGetBuffer(value);
  checkBuffer(buffer, prefix, context, options);
  return value;
}

converters.ArrayBufferView = (value, prefix, context, options) => {
  if (!ArrayBufferIsView(value)) throw conversionError(prefix, context, "is not an ArrayBufferView");
  return checkView(value, prefix, context, options);
};
converters.BufferSource = (value, prefix, context, options) => {
  if (ArrayBufferIsView(value)) return checkView(value, prefix, context, options);
  if (!isArrayBuffer(value) && !(options !== undefined && options.allowShared && isSharedArrayBuffer(value))) {
    throw conversionError(prefix, context, "is neither an ArrayBuffer nor a view of one");
  }
  checkBuffer(value, prefix, context, options);
  return value;
};
converters.Uint8Array = (value, prefix, context, options) => {
  if (!isUint8Array(value)) throw conversionError(prefix, context, "is not a Uint8Array");
  return checkView(value, prefix, context, options);
};

// ---- Functions, promises

converters.Function = (value, prefix, context) => {
  if (typeof value !== "function") throw conversionError(prefix, context, "is not a function");
  return value;
};
converters["Promise<any>"] = (value) => PromiseResolve(value);
converters["Promise<undefined>"] = converters["Promise<any>"];

/** A callback function type; [LegacyTreatNonObjectAsNull] has no business here. */
function createCallbackConverter(name) {
  return (value, prefix, context) => {
    if (typeof value !== "function") throw conversionError(prefix, context, `is not a function (${name})`);
    return value;
  };
}

// ---- Makers

function createNullableConverter(converter) {
  return (value, prefix, context, options) =>
    value === undefined || value === null ? null : converter(value, prefix, context, options);
}

function createEnumConverter(name, values) {
  const set = new SafeSet(values);
  return (value, prefix, context) => {
    const text = toDOMString(value, prefix, context, undefined);
    if (!set.has(text)) throw conversionError(prefix, context, `'${text}' is not a valid value of ${name}`);
    return text;
  };
}

/** `options` of a sequence go to the converter of its elements. */
function createSequenceConverter(converter) {
  return (value, prefix, context, options) => {
    if (!isObject(value)) throw conversionError(prefix, context, "is not a sequence");
    const method = value[SymbolIterator];
    if (typeof method !== "function") throw conversionError(prefix, context, "is not iterable");
    return sequenceFromIterable(value, method, converter, prefix, context, options);
  };
}

/** For unions, where Symbol.iterator has been looked up already and must not be twice. */
function sequenceFromIterable(value, method, converter, prefix, context, options) {
  const iterator = FunctionPrototypeCall(method, value);
  if (!isObject(iterator)) throw conversionError(prefix, context, "has an iterator that is not an object");
  const next = iterator.next;
  const list = [];
  for (;;) {
    const result = FunctionPrototypeCall(next, iterator);
    if (!isObject(result)) throw conversionError(prefix, context, "has an iterator whose result is not an object");
    if (result.done) return list;
    const place = `${context === undefined ? "Value" : context}, index ${list.length}`;
    ArrayPrototypePush(list, converter(result.value, prefix, place, options));
  }
}

/** Own enumerable properties, in their order, as [key, value] pairs. */
function createRecordConverter(keyConverter, valueConverter) {
  return (value, prefix, context, options) => {
    if (!isObject(value)) throw conversionError(prefix, context, "is not an object");
    const pairs = [];
    let replaced = false;
    const keys = ReflectOwnKeys(value);
    for (let i = 0; i < keys.length; i++) {
      const desc = safeGetOwnPropertyDescriptor(value, keys[i]);
      if (desc === undefined || !desc.enumerable) continue;
      const key = keyConverter(keys[i], prefix, context, options);
      const item = valueConverter(value[keys[i]], prefix, context, options);
      // Two keys may become one, by the replacement of lone surrogates: the later value wins, at the earlier place.
      let at = pairs.length;
      replaced ||= key !== keys[i];
      if (replaced) for (at = 0; at < pairs.length && pairs[at][0] !== key; at++);
      if (at < pairs.length) pairs[at][1] = item;
      else ArrayPrototypePush(pairs, [key, item]);
    }
    return pairs;
  };
}

/** A class, because literals without a prototype are slow dictionaries. What was not given is not Object.prototype's to say. */
class Member {
  key;
  converter;
  required;
  defaultValue;
  options;
  context;

  constructor(given, name) {
    this.key = given.key;
    this.converter = given.converter;
    this.required = ownOf(given, "required");
    this.defaultValue = ownOf(given, "defaultValue");
    this.options = ownOf(given, "options");
    this.context = `'${given.key}' of '${name}'`;
  }
}

function ownOf(object, key) {
  return ObjectPrototypeHasOwnProperty(object, key) ? object[key] : undefined;
}

const byKey = (a, b) => (a.key < b.key ? -1 : 1);

/**
 * Members of a dictionary: { key, converter, required?, defaultValue? }; a function as default makes a fresh one each
 * time. Give one list for each dictionary, inherited ones first: members are read in alphabetical order within each.
 */
function createDictionaryConverter(name, ...inherited) {
  let length = 0;
  for (let i = 0; i < inherited.length; i++) length += ArrayPrototypeSort(inherited[i], byKey).length;
  let list = 0;
  let at = 0;
  // Array.from defines its elements. To push them could call setters that an app has put on Array.prototype.
  const members = ArrayFrom({ __proto__: null, length }, () => {
    while (at === inherited[list].length) {
      list++;
      at = 0;
    }
    return new Member(inherited[list][at++], name);
  });
  return (value, prefix, context) => {
    const absent = value === undefined || value === null;
    if (!absent && !isObject(value)) throw conversionError(prefix, context, `cannot be converted to a dictionary (${name})`);
    const dictionary = { __proto__: null };
    for (let i = 0; i < members.length; i++) {
      const { key, converter, required, defaultValue, options, context: memberContext } = members[i];
      const member = absent ? undefined : value[key];
      if (member !== undefined) {
        dictionary[key] = converter(member, prefix, memberContext, options);
      } else if (required) {
        throw conversionError(prefix, memberContext, "is required");
      } else if (defaultValue !== undefined) {
        dictionary[key] = typeof defaultValue === "function" ? defaultValue() : defaultValue;
      }
    }
    return dictionary;
  };
}

function createInterfaceConverter(name, isInstance) {
  return (value, prefix, context) => {
    if (!isObject(value) || !isInstance(value)) throw conversionError(prefix, context, `is not of type '${name}'`);
    return value;
  };
}

// ---- Calls

function requiredArguments(length, required, prefix) {
  if (length < required) {
    throw new TypeError(`${prefix}: ${required} argument${required === 1 ? "" : "s"} required, but only ${length} present`);
  }
}

/** What the constructor of a class that apps cannot construct throws. */
function illegalConstructor() {
  throw new TypeError("Illegal constructor");
}

/** What a method throws when `this` is of another kind. */
function brandError(prefix) {
  return new TypeError(prefix === undefined ? "Illegal invocation" : `${prefix}: Illegal invocation`);
}

// ---- Interfaces

function makeEnumerable(object, isStatic) {
  const keys = ReflectOwnKeys(object);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (typeof key === "symbol" || key === "constructor") continue;
    if (isStatic && (key === "prototype" || key === "length" || key === "name")) continue;
    ObjectDefineProperty(object, key, { __proto__: null, enumerable: true });
  }
}

/** Gives a class what Web IDL asks of an interface: enumerable members, static ones too, and Symbol.toStringTag. */
function configureInterface(Class, name = Class.name) {
  makeEnumerable(Class, true);
  makeEnumerable(Class.prototype, false);
  ObjectDefineProperty(Class.prototype, SymbolToStringTag, { __proto__: null, value: name, configurable: true });
}

/** Constants, { NAME: value }, on both the interface object and its prototype. */
function defineConstants(Class, constants) {
  const keys = ReflectOwnKeys(constants);
  for (let i = 0; i < keys.length; i++) {
    const desc = { __proto__: null, value: constants[keys[i]], enumerable: true };
    ObjectDefineProperty(Class, keys[i], desc);
    ObjectDefineProperty(Class.prototype, keys[i], desc);
  }
}

/**
 * Makes a class iterable over pairs (`iterable<K, V>`): entries, keys, values, forEach and Symbol.iterator. `list(object)`
 * returns [key, value, key, value, ...] as it is now, and throws a TypeError when the object is of another class; it is
 * called anew at every step, so that an iterator sees what has changed meanwhile, and had better be cheap.
 */
function mixinPairIterable(Class, name, list) {
  const KEYS = 0, VALUES = 1, ENTRIES = 2;

  class PairIterator {
    #target;
    #kind;
    #index = 0;
    constructor(target, kind) {
      list(target); // the brand check
      this.#target = target;
      this.#kind = kind;
    }
    next() {
      if (!isObject(this) || !(#target in this)) throw brandError(`Failed to execute 'next' on '${name} Iterator'`);
      const pairs = list(this.#target);
      const at = this.#index;
      if (at >= pairs.length) return { value: undefined, done: true };
      this.#index = at + 2;
      const kind = this.#kind;
      return { value: kind === KEYS ? pairs[at] : kind === VALUES ? pairs[at + 1] : [pairs[at], pairs[at + 1]], done: false };
    }
  }
  createIteratorPrototype(PairIterator.prototype, `${name} Iterator`, IteratorPrototype);

  const methods = {
    entries() { return new PairIterator(this, ENTRIES); },
    keys() { return new PairIterator(this, KEYS); },
    values() { return new PairIterator(this, VALUES); },
    forEach(callback, thisArg = undefined) {
      list(this);
      const prefix = `Failed to execute 'forEach' on '${name}'`;
      requiredArguments(arguments.length, 1, prefix);
      callback = converters.Function(callback, prefix, "Argument 1");
      for (let at = 0, pairs = list(this); at < pairs.length; at += 2, pairs = list(this)) {
        ReflectApply(callback, thisArg, [pairs[at + 1], pairs[at], this]);
      }
    },
  };
  const define = (key, value, enumerable) =>
    ObjectDefineProperty(Class.prototype, key, { __proto__: null, value, writable: true, enumerable, configurable: true });
  define("entries", methods.entries, true);
  define("keys", methods.keys, true);
  define("values", methods.values, true);
  define("forEach", methods.forEach, true);
  define(SymbolIterator, methods.entries, false);
}

module.exports = {
  converters, conversionError, isObject, isArrayBuffer, isSharedArrayBuffer, isTypedArray, isUint8Array,
  createCallbackConverter, createDictionaryConverter, createEnumConverter, createInterfaceConverter,
  createNullableConverter, createRecordConverter, createSequenceConverter, sequenceFromIterable,
  requiredArguments, illegalConstructor, brandError, configureInterface, defineConstants, mixinPairIterable,
};
