// @ts-check
"use strict";
// PerformanceObserver and PerformanceObserverEntryList (https://w3c.github.io/performance-timeline/#the-performanceobserver-interface)
// for marks and measures. No ops.
//
// Deviations: buffered goes with entryTypes too, as in browsers; observers are called in a microtask, not in a task, since one of a
// request that ends would be lost with the request.

const {
  ArrayPrototypePush, FunctionPrototypeCall, ObjectFreeze, PromisePrototypeThen, PromiseResolve, SafeSet, TypeError,
} = require("primordials");
const webidl = require("webidl");
const { DOMException } = require("dom/exception");
const { reportException } = require("dom/report");
const { registerPlatformClass } = require("platform_classes");
const { about, filterEntries, timelineEntries } = require("performance/entries");

const { converters } = webidl;
const INTERNAL = { __proto__: null };
const TYPES = ObjectFreeze(["mark", "measure"]);

/** Those that observe something. */
const observers = new SafeSet();
let isQueued = false;

const nameAndType = (name, type, prefix) => {
  name = converters.DOMString(name, prefix, "Argument 1");
  return { __proto__: null, name, type: type === undefined ? undefined : converters.DOMString(type, prefix, "Argument 2") };
};

class PerformanceObserverEntryList {
  #entries;

  constructor() {
    if (arguments[0] !== INTERNAL) webidl.illegalConstructor();
    this.#entries = arguments[1];
  }

  getEntries() {
    return filterEntries(this.#entries, undefined, undefined);
  }

  getEntriesByType(type) {
    const prefix = "Failed to execute 'getEntriesByType' on 'PerformanceObserverEntryList'";
    if (!(#entries in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 1, prefix);
    return filterEntries(this.#entries, undefined, converters.DOMString(type, prefix, "Argument 1"));
  }

  getEntriesByName(name, type = undefined) {
    const prefix = "Failed to execute 'getEntriesByName' on 'PerformanceObserverEntryList'";
    if (!(#entries in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 1, prefix);
    const wanted = nameAndType(name, type, prefix);
    return filterEntries(this.#entries, wanted.name, wanted.type);
  }
}
webidl.configureInterface(PerformanceObserverEntryList);
registerPlatformClass(PerformanceObserverEntryList, []);

const convertObserverInit = webidl.createDictionaryConverter("PerformanceObserverInit", [
  { key: "entryTypes", converter: webidl.createSequenceConverter(converters.DOMString) },
  { key: "type", converter: converters.DOMString },
  { key: "buffered", converter: converters.boolean },
]);

const isSupported = (type) => type === TYPES[0] || type === TYPES[1];

let offer, deliver;

class PerformanceObserver {
  #callback;
  #types = new SafeSet();
  /** How it was first told what to observe: "types" or "type"; it cannot be both. */
  #kind = "";
  #buffer = [];

  constructor(callback) {
    const prefix = "Failed to construct 'PerformanceObserver'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    this.#callback = converters.Function(callback, prefix, "Argument 1");
  }

  observe(options = undefined) {
    const prefix = "Failed to execute 'observe' on 'PerformanceObserver'";
    if (!(#types in this)) throw webidl.brandError(prefix);
    const { entryTypes, type, buffered } = convertObserverInit(options, prefix, "Argument 1");
    if (entryTypes === undefined && type === undefined) throw new TypeError(`${prefix}: either entryTypes or type is required`);
    if (entryTypes !== undefined && type !== undefined) throw new TypeError(`${prefix}: entryTypes does not go with type`);
    const kind = entryTypes === undefined ? "type" : "types";
    if (this.#kind === "") this.#kind = kind;
    if (this.#kind !== kind) {
      throw new DOMException(`${prefix}: an observer has either entryTypes or types`, "InvalidModificationError");
    }
    if (entryTypes === undefined) this.#observeType(type, buffered === true);
    else this.#observeTypes(entryTypes, buffered === true);
  }

  /** What is not supported is ignored, as is a call with nothing else. */
  #observeTypes(types, buffered) {
    const set = new SafeSet();
    for (let i = 0; i < types.length; i++) if (isSupported(types[i])) set.add(types[i]);
    if (set.size === 0) return;
    this.#types = set;
    observers.add(this);
    if (buffered) for (let i = 0; i < types.length; i++) if (isSupported(types[i])) this.#addBuffered(types[i]);
  }

  #observeType(type, buffered) {
    if (!isSupported(type)) return;
    this.#types.add(type);
    observers.add(this);
    if (buffered) this.#addBuffered(type);
  }

  /** The entries that are there already. */
  #addBuffered(type) {
    const before = timelineEntries(undefined, type);
    for (let i = 0; i < before.length; i++) ArrayPrototypePush(this.#buffer, before[i]);
    queueDelivery();
  }

  disconnect() {
    this.#types = new SafeSet();
    this.#buffer = [];
    this.#kind = "";
    observers.delete(this);
  }

  takeRecords() {
    const records = this.#buffer;
    this.#buffer = [];
    return records;
  }

  static get supportedEntryTypes() {
    return TYPES;
  }

  static {
    offer = (observer, entry, type) => {
      if (observer.#types.has(type)) ArrayPrototypePush(observer.#buffer, entry);
    };
    deliver = (observer) => {
      const entries = observer.#buffer;
      if (entries.length === 0) return;
      observer.#buffer = [];
      try {
        const list = new (/** @type {any} */ (PerformanceObserverEntryList))(INTERNAL, entries);
        FunctionPrototypeCall(observer.#callback, observer, list, observer, { droppedEntriesCount: 0 });
      } catch (error) {
        reportException(error);
      }
    };
  }
}
webidl.configureInterface(PerformanceObserver);
registerPlatformClass(PerformanceObserver, []);

/** Tells the observers of an entry. */
function notifyObservers(entry) {
  if (observers.size === 0) return;
  const { type } = about(entry);
  observers.forEach((observer) => offer(observer, entry, type));
  queueDelivery();
}

function queueDelivery() {
  if (isQueued) return;
  isQueued = true;
  PromisePrototypeThen(PromiseResolve(undefined), () => {
    isQueued = false;
    // A copy: a callback may begin or end an observation.
    const list = [];
    observers.forEach((observer) => ArrayPrototypePush(list, observer));
    for (let i = 0; i < list.length; i++) deliver(list[i]);
  });
}

module.exports = { PerformanceObserver, PerformanceObserverEntryList, notifyObservers };
