// @ts-check
"use strict";
// https://fetch.spec.whatwg.org/#headers-class. A header list is a flat array [name, value, name, value, ...] with names
// in lower case, the form in which the natives take and give it.
//
// Deviations, as servers want it: no header is forbidden, neither to requests nor to responses (so the guards "request",
// "response" and "none" are alike, and request-no-cors is not there); the case of names is not kept.

const {
  ArrayPrototypePush, ArrayPrototypeSort, ObjectPrototypePropertyIsEnumerable, ReflectOwnKeys, StringPrototypeCharCodeAt,
  StringPrototypeToLowerCase, SymbolIterator, TypeError, Uint8Array,
} = require("primordials");
const webidl = require("webidl");
const { trimHttpWhitespace } = require("infra/bytes");
const { registerPlatformClass } = require("platform_classes");

const toByteString = webidl.converters.ByteString;
const toByteStrings = webidl.createSequenceConverter(toByteString);

/** Code points of tokens (https://www.rfc-editor.org/rfc/rfc9110#name-tokens): 1, and 2 for those in upper case. */
const tokenChars = new Uint8Array(256);
{
  const chars = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz";
  for (let i = 0; i < chars.length; i++) tokenChars[StringPrototypeCharCodeAt(chars, i)] = 1;
  for (let code = 0x41; code <= 0x5a; code++) tokenChars[code] = 2;
}

/** The name in lower case; throws when it is no header name. */
function normalizeName(name, prefix) {
  let seen = 0;
  for (let i = 0; i < name.length; i++) {
    const kind = tokenChars[StringPrototypeCharCodeAt(name, i)];
    if (kind === 0) throw new TypeError(`${prefix}: Invalid header name: '${name}'`);
    seen |= kind;
  }
  if (seen === 0) throw new TypeError(`${prefix}: Invalid header name: ''`);
  return seen & 2 ? StringPrototypeToLowerCase(name) : name;
}

/** The value without whitespace around it; throws when it cannot be a header value. */
function normalizeValue(value, prefix) {
  value = trimHttpWhitespace(value);
  for (let i = 0; i < value.length; i++) {
    const code = StringPrototypeCharCodeAt(value, i);
    if (code === 0x0d || code === 0x0a || code === 0) throw new TypeError(`${prefix}: Invalid header value`);
  }
  return value;
}

// ---- Header lists

/** @returns {string | null} All values of a name (in lower case), joined. */
function getHeader(list, name) {
  let found = null;
  for (let i = 0; i < list.length; i += 2) {
    if (list[i] === name) found = found === null ? list[i + 1] : `${found}, ${list[i + 1]}`;
  }
  return found;
}

function hasHeader(list, name) {
  for (let i = 0; i < list.length; i += 2) {
    if (list[i] === name) return true;
  }
  return false;
}

/** Replaces the first, removes the others, or appends. */
function setHeader(list, name, value) {
  let found = false;
  let kept = 0;
  for (let i = 0; i < list.length; i += 2) {
    if (list[i] === name && found) continue;
    list[kept] = list[i];
    list[kept + 1] = list[i] === name ? value : list[i + 1];
    if (list[i] === name) found = true;
    kept += 2;
  }
  list.length = kept;
  if (!found) ArrayPrototypePush(list, name, value);
}

function deleteHeader(list, name) {
  let kept = 0;
  for (let i = 0; i < list.length; i += 2) {
    if (list[i] === name) continue;
    list[kept] = list[i];
    list[kept + 1] = list[i + 1];
    kept += 2;
  }
  list.length = kept;
}

function copyList(list) {
  const copy = [];
  for (let i = 0; i < list.length; i++) ArrayPrototypePush(copy, list[i]);
  return copy;
}

/** "Sort and combine": names in order, values joined, every set-cookie apart. */
function sortAndCombine(list) {
  const pairs = [];
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i];
    let at = pairs.length;
    if (name !== "set-cookie") for (at = 0; at < pairs.length && pairs[at].name !== name; at++);
    if (at < pairs.length) pairs[at].value += `, ${list[i + 1]}`;
    else ArrayPrototypePush(pairs, { __proto__: null, name, value: list[i + 1] });
  }
  ArrayPrototypeSort(pairs, (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const sorted = [];
  for (let i = 0; i < pairs.length; i++) ArrayPrototypePush(sorted, pairs[i].name, pairs[i].value);
  return sorted;
}

/**
 * HeadersInit, (sequence<sequence<ByteString>> or record<ByteString, ByteString>), converted but not validated: a fresh
 * flat array.
 */
function convertHeadersInit(init, prefix, context) {
  if (!webidl.isObject(init)) throw webidl.conversionError(prefix, context, "is neither a sequence nor a record");
  const list = [];
  const method = init[SymbolIterator];
  if (method !== undefined && method !== null) {
    if (typeof method !== "function") throw webidl.conversionError(prefix, context, "is not iterable");
    // An untouched Headers: what its iterator would give, without the strings being joined and checked again.
    if (method === iterate && isHeaders(init)) return copyList(flatHeaders(init));
    const pairs = webidl.sequenceFromIterable(init, method, toByteStrings, prefix, context);
    for (let i = 0; i < pairs.length; i++) {
      if (pairs[i].length !== 2) throw webidl.conversionError(prefix, context, "has an item that is not a pair");
      ArrayPrototypePush(list, pairs[i][0], pairs[i][1]);
    }
    return list;
  }
  const keys = ReflectOwnKeys(init);
  for (let i = 0; i < keys.length; i++) {
    // Asks for the property's descriptor, as the conversion of a record does, without making an object of it.
    if (!ObjectPrototypePropertyIsEnumerable(init, keys[i])) continue;
    const name = toByteString(keys[i], prefix, context);
    ArrayPrototypePush(list, name, toByteString(init[keys[i]], prefix, context));
  }
  return list;
}

/** Makes a header list of what convertHeadersInit returned, in place. */
function validateList(list, prefix) {
  for (let i = 0; i < list.length; i += 2) {
    list[i] = normalizeName(list[i], prefix);
    list[i + 1] = normalizeValue(list[i + 1], prefix);
  }
  return list;
}

// ---- Headers

const guards = lazy("fetch/header_guards");

/** First argument of the constructor within this folder: then the list or a function that makes it, and the guard. */
const INTERNAL = { __proto__: null };

/** @type {(headers: any) => string[]} The header list itself, not a copy. */
let flatHeaders;
/** @type {(value: any) => boolean} */
let isHeaders;
/** @type {(headers: any) => string[]} */
let sortedHeaders;

class Headers {
  /** @type {any} The header list, or what returns it when it is first wanted. */
  #list;
  #guard = "none";
  /** @type {string[] | null} Sorted and combined, until something changes. */
  #sorted = null;

  constructor(init = undefined) {
    if (init === INTERNAL) {
      this.#list = arguments[1];
      this.#guard = arguments[2];
    } else if (init === undefined) {
      this.#list = [];
    } else {
      const prefix = "Failed to construct 'Headers'";
      this.#list = validateList(convertHeadersInit(init, prefix, "Argument 1"), prefix);
    }
  }

  #read() {
    if (typeof this.#list === "function") this.#list = (0, this.#list)();
    return this.#list;
  }

  /** The list, to be changed. */
  #write(prefix) {
    if (this.#guard === "immutable") throw new TypeError(`${prefix}: Headers are immutable`);
    this.#sorted = null;
    return this.#read();
  }

  append(name, value) {
    const prefix = "Failed to execute 'append' on 'Headers'";
    this.#guard; // The brand comes before the conversion.
    webidl.requiredArguments(arguments.length, 2, prefix);
    name = toByteString(name, prefix, "Argument 1");
    value = toByteString(value, prefix, "Argument 2");
    value = normalizeValue(value, prefix);
    name = normalizeName(name, prefix);
    const list = this.#write(prefix);
    if (this.#isGuarded(name) && guards.use().refuses(this.#guard, name, value, getHeader(list, name))) return;
    ArrayPrototypePush(list, name, value);
  }

  delete(name) {
    const prefix = "Failed to execute 'delete' on 'Headers'";
    this.#guard;
    webidl.requiredArguments(arguments.length, 1, prefix);
    name = normalizeName(toByteString(name, prefix, "Argument 1"), prefix);
    deleteHeader(this.#write(prefix), name);
  }

  get(name) {
    const prefix = "Failed to execute 'get' on 'Headers'";
    const list = this.#read();
    webidl.requiredArguments(arguments.length, 1, prefix);
    return getHeader(list, normalizeName(toByteString(name, prefix, "Argument 1"), prefix));
  }

  getSetCookie() {
    const list = this.#read();
    const values = [];
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === "set-cookie") ArrayPrototypePush(values, list[i + 1]);
    }
    return values;
  }

  has(name) {
    const prefix = "Failed to execute 'has' on 'Headers'";
    const list = this.#read();
    webidl.requiredArguments(arguments.length, 1, prefix);
    return hasHeader(list, normalizeName(toByteString(name, prefix, "Argument 1"), prefix));
  }

  set(name, value) {
    const prefix = "Failed to execute 'set' on 'Headers'";
    this.#guard;
    webidl.requiredArguments(arguments.length, 2, prefix);
    name = toByteString(name, prefix, "Argument 1");
    value = toByteString(value, prefix, "Argument 2");
    value = normalizeValue(value, prefix);
    name = normalizeName(name, prefix);
    const list = this.#write(prefix);
    if (this.#isGuarded(name) && guards.use().refuses(this.#guard, name, value, null)) return;
    setHeader(list, name, value);
  }

  /** Whether a request may have to do without this header: the guards know. */
  #isGuarded(name) {
    if (this.#guard !== "request") return this.#guard === "request-no-cors";
    return name === "x-http-method" || name === "x-http-method-override" || name === "x-method-override";
  }

  static {
    flatHeaders = (headers) => headers.#read();
    isHeaders = (value) => #guard in value;
    sortedHeaders = (headers) => {
      if (headers.#sorted === null) headers.#sorted = sortAndCombine(headers.#read());
      return headers.#sorted;
    };
  }
}
webidl.mixinPairIterable(Headers, "Headers", sortedHeaders);
webidl.configureInterface(Headers);
registerPlatformClass(Headers, [], flatHeaders);

const iterate = Headers.prototype[SymbolIterator];

/** Headers over a list, which they share. */
function headersFromList(list, guard) {
  // @ts-ignore the arguments of INTERNAL
  return new Headers(INTERNAL, list, guard);
}

/** Headers whose list is what `thunk()` returns, asked for when it is first looked at. */
function headersFromThunk(thunk, guard) {
  // @ts-ignore the arguments of INTERNAL
  return new Headers(INTERNAL, thunk, guard);
}

module.exports = {
  Headers, isHeaders, headersFromList, headersFromThunk, flatHeaders, convertHeadersInit, validateList, copyList,
  getHeader, hasHeader, setHeader,
};
