// @ts-check
"use strict";
// https://xhr.spec.whatwg.org/#interface-formdata. Entries are one flat array of names and values; a value is a string
// or a File. There are no HTML forms here, so the constructor takes nothing.

const { ArrayPrototypePush, TypeError } = require("primordials");
const webidl = require("webidl");
const { fileFromBlob, isBlob, isFile } = require("file/blob");

const toUSVString = webidl.converters.USVString;

/** First argument of the constructor within this folder: the second is the list of entries. */
const INTERNAL = { __proto__: null };

/** @type {(form: any) => any[]} The entries, name, value, name, value, ... */
let formEntries;
/** @type {(value: any) => boolean} */
let isFormData;

class FormData {
  /** @type {any[]} */
  #list = [];

  constructor(form = undefined) {
    if (form === INTERNAL) {
      this.#list = arguments[1];
    } else if (form !== undefined) {
      throw new TypeError("Failed to construct 'FormData': Argument 1 is not of type 'HTMLFormElement'");
    }
  }

  append(name, value, filename = undefined) {
    const prefix = "Failed to execute 'append' on 'FormData'";
    const list = this.#list;
    webidl.requiredArguments(arguments.length, 2, prefix);
    name = toUSVString(name, prefix, "Argument 1");
    const entry = toEntryValue(value, filename, arguments.length, prefix);
    ArrayPrototypePush(list, name, entry);
  }

  delete(name) {
    const prefix = "Failed to execute 'delete' on 'FormData'";
    const list = this.#list;
    webidl.requiredArguments(arguments.length, 1, prefix);
    name = toUSVString(name, prefix, "Argument 1");
    let kept = 0;
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === name) continue;
      list[kept] = list[i];
      list[kept + 1] = list[i + 1];
      kept += 2;
    }
    list.length = kept;
  }

  get(name) {
    const prefix = "Failed to execute 'get' on 'FormData'";
    const list = this.#list;
    webidl.requiredArguments(arguments.length, 1, prefix);
    name = toUSVString(name, prefix, "Argument 1");
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === name) return list[i + 1];
    }
    return null;
  }

  getAll(name) {
    const prefix = "Failed to execute 'getAll' on 'FormData'";
    const list = this.#list;
    webidl.requiredArguments(arguments.length, 1, prefix);
    name = toUSVString(name, prefix, "Argument 1");
    const values = [];
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === name) ArrayPrototypePush(values, list[i + 1]);
    }
    return values;
  }

  has(name) {
    const prefix = "Failed to execute 'has' on 'FormData'";
    const list = this.#list;
    webidl.requiredArguments(arguments.length, 1, prefix);
    name = toUSVString(name, prefix, "Argument 1");
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === name) return true;
    }
    return false;
  }

  set(name, value, filename = undefined) {
    const prefix = "Failed to execute 'set' on 'FormData'";
    const list = this.#list;
    webidl.requiredArguments(arguments.length, 2, prefix);
    name = toUSVString(name, prefix, "Argument 1");
    const entry = toEntryValue(value, filename, arguments.length, prefix);
    let found = false;
    let kept = 0;
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === name && found) continue;
      list[kept] = list[i];
      list[kept + 1] = list[i] === name ? entry : list[i + 1];
      if (list[i] === name) found = true;
      kept += 2;
    }
    list.length = kept;
    if (!found) ArrayPrototypePush(list, name, entry);
  }

  static {
    formEntries = (form) => form.#list;
    isFormData = (value) => #list in value;
  }
}
webidl.mixinPairIterable(FormData, "FormData", formEntries);
webidl.configureInterface(FormData);

/**
 * The value of an entry: (name, USVString) or (name, Blob, optional filename). Blobs become Files, named "blob" if
 * nothing else is said.
 */
function toEntryValue(value, filename, given, prefix) {
  if (isBlob(value)) {
    if (filename !== undefined) return fileFromBlob(value, toUSVString(filename, prefix, "Argument 3"));
    return isFile(value) ? value : fileFromBlob(value, "blob");
  }
  if (given >= 3) throw new TypeError(`${prefix}: Argument 2 is not of type 'Blob'`);
  return toUSVString(value, prefix, "Argument 2");
}

/** A FormData of entries that are normalised already; it keeps the array. */
function formFromEntries(list) {
  // @ts-ignore the arguments of INTERNAL
  return new FormData(INTERNAL, list);
}

module.exports = { FormData, isFormData, formEntries, formFromEntries };
