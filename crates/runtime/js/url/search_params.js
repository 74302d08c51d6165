// @ts-check
"use strict";
// https://url.spec.whatwg.org/#interface-urlsearchparams. Names and values are one flat array, the form in which the
// natives parse and serialise application/x-www-form-urlencoded.

const {
  ArrayPrototypePush, ArrayPrototypeSort, StringPrototypeCharCodeAt, StringPrototypeSlice,
  SymbolIterator, TypeError,
} = require("primordials");
const { op_url_form_parse, op_url_form_serialize } = require("ops");
const webidl = require("webidl");

const QUESTION_MARK = 0x3f;
const toUSVString = webidl.converters.USVString;
const toStrings = webidl.createSequenceConverter(toUSVString);
const toRecord = webidl.createRecordConverter(toUSVString, toUSVString);

/** First argument of the constructor for params that belong to a URL: the second is that URL, the third its query. */
const OF_URL = { __proto__: null };

/** Set by url.js: (url, query) => void. */
let updateUrl;
/** @type {(params: any) => string[]} */
let listOf;
/** @type {(params: any) => boolean} */
let isURLSearchParams;
/** @type {(params: any, query: string) => void} */
let replaceQuery;

class URLSearchParams {
  /** @type {string[]} name, value, name, value, ... */
  #list = [];
  /** The URL that is to be kept up to date. */
  #url = null;

  constructor(init = undefined) {
    if (init === OF_URL) {
      this.#url = arguments[1];
      this.#list = parse(arguments[2]);
    } else if (init !== undefined) {
      this.#list = listFromInit(init, "Failed to construct 'URLSearchParams'");
    }
  }

  #changed() {
    if (this.#url !== null) updateUrl(this.#url, op_url_form_serialize(this.#list));
  }

  get size() {
    return this.#list.length / 2;
  }

  append(name, value) {
    const list = this.#list;
    const prefix = "Failed to execute 'append' on 'URLSearchParams'";
    webidl.requiredArguments(arguments.length, 2, prefix);
    name = toUSVString(name, prefix, "Argument 1");
    value = toUSVString(value, prefix, "Argument 2");
    ArrayPrototypePush(list, name, value);
    this.#changed();
  }

  delete(name, value = undefined) {
    const list = this.#list;
    const prefix = "Failed to execute 'delete' on 'URLSearchParams'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    name = toUSVString(name, prefix, "Argument 1");
    if (value !== undefined) value = toUSVString(value, prefix, "Argument 2");
    let kept = 0;
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === name && (value === undefined || list[i + 1] === value)) continue;
      list[kept] = list[i];
      list[kept + 1] = list[i + 1];
      kept += 2;
    }
    list.length = kept;
    this.#changed();
  }

  get(name) {
    const list = this.#list;
    const prefix = "Failed to execute 'get' on 'URLSearchParams'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    name = toUSVString(name, prefix, "Argument 1");
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === name) return list[i + 1];
    }
    return null;
  }

  getAll(name) {
    const list = this.#list;
    const prefix = "Failed to execute 'getAll' on 'URLSearchParams'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    name = toUSVString(name, prefix, "Argument 1");
    const values = [];
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === name) ArrayPrototypePush(values, list[i + 1]);
    }
    return values;
  }

  has(name, value = undefined) {
    const list = this.#list;
    const prefix = "Failed to execute 'has' on 'URLSearchParams'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    name = toUSVString(name, prefix, "Argument 1");
    if (value !== undefined) value = toUSVString(value, prefix, "Argument 2");
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === name && (value === undefined || list[i + 1] === value)) return true;
    }
    return false;
  }

  set(name, value) {
    const list = this.#list;
    const prefix = "Failed to execute 'set' on 'URLSearchParams'";
    webidl.requiredArguments(arguments.length, 2, prefix);
    name = toUSVString(name, prefix, "Argument 1");
    value = toUSVString(value, prefix, "Argument 2");
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
    this.#changed();
  }

  sort() {
    const list = this.#list;
    const pairs = [];
    for (let i = 0; i < list.length; i += 2) ArrayPrototypePush(pairs, { __proto__: null, name: list[i], value: list[i + 1] });
    // Array sorting is stable and strings compare by their code units: both as the spec wants it.
    ArrayPrototypeSort(pairs, (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    for (let i = 0; i < pairs.length; i++) {
      list[2 * i] = pairs[i].name;
      list[2 * i + 1] = pairs[i].value;
    }
    this.#changed();
  }

  toString() {
    return op_url_form_serialize(this.#list);
  }

  static {
    listOf = (params) => params.#list;
    isURLSearchParams = (value) => #list in value;
    replaceQuery = (params, query) => copyInto(params.#list, parse(query));
  }
}
webidl.mixinPairIterable(URLSearchParams, "URLSearchParams", listOf);
webidl.configureInterface(URLSearchParams);

const iterate = URLSearchParams.prototype[SymbolIterator];

function parse(query) {
  return query === "" ? [] : op_url_form_parse(query);
}

/** In place: the methods hold on to their list while arguments are converted. */
function copyInto(list, from) {
  list.length = 0;
  for (let i = 0; i < from.length; i++) list[i] = from[i];
  return list;
}

/** (sequence<sequence<USVString>> or record<USVString, USVString> or USVString) */
function listFromInit(init, prefix) {
  if (!webidl.isObject(init)) {
    const text = toUSVString(init, prefix, "Argument 1");
    return parse(StringPrototypeCharCodeAt(text, 0) === QUESTION_MARK ? StringPrototypeSlice(text, 1) : text);
  }
  const method = init[SymbolIterator];
  if (method !== undefined && method !== null) {
    if (typeof method !== "function") throw new TypeError(`${prefix}: Argument 1 is not iterable`);
    if (method === iterate && isURLSearchParams(init)) return copyInto([], listOf(init));
    return flatten(webidl.sequenceFromIterable(init, method, toStrings, prefix, "Argument 1"), prefix);
  }
  return flatten(toRecord(init, prefix, "Argument 1"), prefix);
}

function flatten(pairs, prefix) {
  const list = [];
  for (let i = 0; i < pairs.length; i++) {
    if (pairs[i].length !== 2) throw new TypeError(`${prefix}: Each pair must be a name and a value`);
    ArrayPrototypePush(list, pairs[i][0], pairs[i][1]);
  }
  return list;
}

/** The URLSearchParams of a URL, with its query. */
function paramsForUrl(url, query) {
  // @ts-ignore the arguments of OF_URL
  return new URLSearchParams(OF_URL, url, query);
}

function onParamsChange(update) {
  updateUrl = update;
}

/** What a body made of them is. */
function serializeParams(params) {
  return op_url_form_serialize(listOf(params));
}

module.exports = { URLSearchParams, isURLSearchParams, serializeParams, paramsForUrl, onParamsChange, replaceQuery };
