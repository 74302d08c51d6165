// @ts-check
"use strict";
// Cache and CacheStorage (https://w3c.github.io/ServiceWorker/#cache-objects) as Workers have them: `caches.default`,
// `caches.open(name)`; `match`, `put` and `delete`, which mind Cache-Control, Expires, Vary and Set-Cookie. No ops.
//
// Deviations: a cache is the worker's own and in its memory, bounded (cache/store.js): other workers, and the next one, do not have
// what it has, and a response of more than a megabyte is not kept. There is neither matchAll, keys, add nor addAll, and
// CacheStorage has open and default alone; the others reject. match takes no heed of Range and If-* headers of the request.

const {
  FunctionPrototypeCall, Promise, PromisePrototypeThen, PromiseReject, SafeMap, StringPrototypeIndexOf, StringPrototypeSlice,
  TypeError, Uint8Array,
} = require("primordials");
const webidl = require("webidl");
const { DOMException } = require("dom/exception");
const { registerPlatformClass } = require("platform_classes");
const { copyList, getHeader } = require("fetch/headers");
const { BODY_BYTES, InnerBody } = require("fetch/inner_body");
const { Request, headerListOf: requestHeaders, isRequest, methodOf, urlOf } = require("fetch/request");
const { arrayBuffer, headerListOf, isResponse, responseFromNative } = require("fetch/response");
const { statusOf, statusTextOf } = require("fetch/response_parts");
const { expiryOf, varyOf } = require("cache/policy");
const { findEntry, putEntry, removeEntry } = require("cache/store");

const { converters } = webidl;
const INTERNAL = { __proto__: null };
const DEFAULT = 0;

const convertQueryOptions = webidl.createDictionaryConverter("CacheQueryOptions", [
  { key: "ignoreMethod", converter: converters.boolean, defaultValue: false },
  { key: "ignoreVary", converter: converters.boolean, defaultValue: false },
]);

function toRequest(value) {
  return isRequest(value) ? value : new Request(value);
}

/** The key: a URL without its fragment. */
function keyOf(request) {
  const url = urlOf(request);
  const hash = StringPrototypeIndexOf(url, "#");
  return hash < 0 ? url : StringPrototypeSlice(url, 0, hash);
}

const headersOf = (request) => {
  const list = requestHeaders(request);
  return (name) => getHeader(list, name);
};

/** A promise of what `f` returns; what it throws rejects it. */
function promised(f) {
  return new Promise((resolve) => resolve(f()));
}

function missing(name, advice) {
  return PromiseReject(new DOMException(`${name} is not supported: ${advice}`, "NotSupportedError"));
}

class Cache {
  #id;

  constructor() {
    if (arguments[0] !== INTERNAL) webidl.illegalConstructor();
    this.#id = arguments[1];
  }

  match(request, options = undefined) {
    const count = arguments.length;
    return promised(() => {
      const prefix = "Failed to execute 'match' on 'Cache'";
      const id = this.#id;
      webidl.requiredArguments(count, 1, prefix);
      const { ignoreMethod, ignoreVary } = convertQueryOptions(options, prefix, "Argument 2");
      const wanted = toRequest(request);
      if (!ignoreMethod && methodOf(wanted) !== "GET") return undefined;
      const entry = findEntry(id, keyOf(wanted), ignoreVary ? undefined : headersOf(wanted));
      if (entry === undefined) return undefined;
      const body = new InnerBody(BODY_BYTES, entry.bytes);
      body.shared = true;
      return responseFromNative([entry.status, entry.statusText, copyList(entry.headers), entry.url, false, entry.isNull ? 0 : body]);
    });
  }

  put(request, response) {
    const count = arguments.length;
    return promised(() => {
      const prefix = "Failed to execute 'put' on 'Cache'";
      const id = this.#id;
      webidl.requiredArguments(count, 2, prefix);
      const wanted = toRequest(request);
      if (!isResponse(response)) throw webidl.conversionError(prefix, "Argument 2", "is not of type 'Response'");
      if (methodOf(wanted) !== "GET") throw new TypeError(`${prefix}: the request's method is ${methodOf(wanted)}, not GET`);
      const status = statusOf(response);
      if (status === 206) throw new TypeError(`${prefix}: the response is a part of another (status 206)`);
      const headers = copyList(headerListOf(response));
      const names = varyOf(headers);
      if (names === undefined) throw new TypeError(`${prefix}: the response varies by everything (Vary: *)`);
      const expires = expiryOf(headers);
      const headerOf = headersOf(wanted);
      const vary = [];
      for (let i = 0; i < names.length; i++) {
        vary[vary.length] = names[i];
        vary[vary.length] = headerOf(names[i]);
      }
      return PromisePrototypeThen(FunctionPrototypeCall(arrayBuffer, response), (buffer) => {
        if (expires === 0) return undefined;
        const bytes = new Uint8Array(buffer);
        const isNull = status === 204 || status === 205 || status === 304;
        putEntry({
          __proto__: null, cache: id, url: keyOf(wanted), vary, status, statusText: statusTextOf(response), headers, bytes, expires,
          isNull,
        }, headerOf);
        return undefined;
      });
    });
  }

  delete(request, options = undefined) {
    const count = arguments.length;
    return promised(() => {
      const prefix = "Failed to execute 'delete' on 'Cache'";
      const id = this.#id;
      webidl.requiredArguments(count, 1, prefix);
      const { ignoreMethod, ignoreVary } = convertQueryOptions(options, prefix, "Argument 2");
      const wanted = toRequest(request);
      if (!ignoreMethod && methodOf(wanted) !== "GET") return false;
      return removeEntry(id, keyOf(wanted), ignoreVary ? undefined : headersOf(wanted));
    });
  }

  matchAll() { return missing("matchAll of Cache", "use match"); }
  keys() { return missing("keys of Cache", "keep a list of your own"); }
  add() { return missing("add of Cache", "use fetch and put"); }
  addAll() { return missing("addAll of Cache", "use fetch and put"); }
}
webidl.configureInterface(Cache);
registerPlatformClass(Cache, []);

const createCache = (id) => new (/** @type {any} */ (Cache))(INTERNAL, id);

/** More would be a leak: names are an app's. */
const MAX_CACHES = 64;
const byName = new SafeMap();
let defaultCache;

class CacheStorage {
  #brand;

  constructor() {
    if (arguments[0] !== INTERNAL) webidl.illegalConstructor();
  }

  get default() {
    this.#brand;
    return (defaultCache ??= createCache(DEFAULT));
  }

  open(cacheName) {
    const count = arguments.length;
    return promised(() => {
      const prefix = "Failed to execute 'open' on 'CacheStorage'";
      this.#brand;
      webidl.requiredArguments(count, 1, prefix);
      const name = converters.DOMString(cacheName, prefix, "Argument 1");
      let cache = byName.get(name);
      if (cache !== undefined) return cache;
      if (byName.size >= MAX_CACHES) throw new DOMException(`${prefix}: there are ${MAX_CACHES} caches already`, "NotSupportedError");
      byName.set(name, cache = createCache(byName.size + 1));
      return cache;
    });
  }

  match() { return missing("match of CacheStorage", "use match of caches.default, or of a cache that was opened"); }
  has() { return missing("has of CacheStorage", "open makes a cache where there is none"); }
  delete() { return missing("delete of CacheStorage", "use delete of the cache"); }
  keys() { return missing("keys of CacheStorage", "keep a list of your own"); }
}
webidl.configureInterface(CacheStorage);
registerPlatformClass(CacheStorage, []);

const caches = new (/** @type {any} */ (CacheStorage))(INTERNAL);

module.exports = { Cache, CacheStorage, caches };
