// @ts-check
"use strict";
// https://fetch.spec.whatwg.org/#request-class. An incoming request (requestFromNative) is an id until an app looks at it:
// method, URL, headers and body are asked of the natives one by one, when they are first wanted.
//
// Deviations, as servers want it: there is no base URL, so URLs must be absolute; streams as bodies need no `duplex`;
// mode, credentials, cache, referrer and the like are kept but mean nothing to fetch(); no header is forbidden. As in
// workerd, the headers of an incoming request are immutable and its redirect mode is "manual", so that a proxy that does
// fetch(request) passes redirects on.

const { ArrayIsArray, ArrayPrototypePush, TypeError } = require("primordials");
const { op_request_body, op_request_headers, op_request_method, op_request_url } = require("ops");
const webidl = require("webidl");
const {
  copyList, flatHeaders, getHeader, hasHeader, headersFromList, headersFromThunk, validateList,
} = require("fetch/headers");
const {
  BODY_STREAM, bodyFromNative, cloneBody, extractBody, isUnusable, lastExtractedType, transferBody,
} = require("fetch/inner_body");
const { mixinBody } = require("fetch/body");
const { DEFAULTS, INCOMING, NO_OPTIONS } = require("fetch/settings");
const { registerPlatformClass } = require("platform_classes");

const aborts = lazy("dom/abort");
const urls = lazy("url/url");
const inits = lazy("fetch/request_init");
const guards = lazy("fetch/header_guards");

/** First argument of the constructor for incoming requests: the second is the id. */
const NATIVE = { __proto__: null };
/** And for clones: the second is the request. */
const CLONE = { __proto__: null };

// Friends.
/** @type {(value: any) => boolean} */
let isRequest;
/** @type {(request: any) => any} InnerBody or null. */
let bodyOf;
/** @type {(request: any) => any} */
let headersOf;
/** @type {(request: any) => string[]} The header list itself. */
let headerListOf;
/** @type {(request: any) => string} */
let methodOf;
/** @type {(request: any) => string} */
let urlOf;
/** @type {(request: any) => any} */
let settingsOf;
/** @type {(request: any) => any} */
let signalOf;
/** @type {(request: any) => any} The signal that aborts fetch(); null if it cannot be aborted. */
let signalToMind;
/** @type {(request: any, reason: unknown) => void} */
let abortNativeRequest;

class Request {
  /** The id of an incoming request, else 0. */
  #id = 0;
  /** @type {any} */
  #method;
  /** @type {any} With its fragment. */
  #url;
  /** @type {any} A header list until the object is accessed. */
  #headers;
  /** @type {any} undefined: ask the natives; null: none. */
  #body;
  /** @type {any} Made when wanted. */
  #signal;
  /** @type {any} What the signal follows: an AbortSignal, a Request, or the { reason } for which it is aborted already. */
  #follows;
  #settings = DEFAULTS;

  constructor(input, init = undefined) {
    if (input === NATIVE) {
      this.#id = init;
      this.#settings = INCOMING;
    } else if (input === CLONE) {
      Request.#clone(this, init);
    } else {
      const prefix = "Failed to construct 'Request'";
      webidl.requiredArguments(arguments.length, 1, prefix);
      Request.#construct(this, input, init, prefix);
    }
  }

  // Static, since private methods cost every object a field.
  static #construct(self, input, init, prefix) {
    let from = null;
    if (isRequest(input)) from = input;
    else input = webidl.converters.USVString(input, prefix, "Argument 1");
    const options = init === undefined ? NO_OPTIONS : inits.use().toRequestInit(init, prefix, "Argument 2");
    if (from === null) {
      const { parseHref, parsedHasCredentials } = urls.use();
      const href = parseHref(input);
      if (href === undefined) throw new TypeError(`${prefix}: Invalid URL: '${input}'`);
      if (parsedHasCredentials()) throw new TypeError(`${prefix}: The URL has credentials: '${input}'`);
      self.#url = href;
      self.#method = "GET";
    } else {
      self.#url = urlOf(from);
      self.#method = methodOf(from);
      if (from.#id !== 0 || from.#signal !== undefined || from.#follows !== undefined) self.#follows = from;
    }
    self.#settings = from === null ? DEFAULTS : from.#settings;
    if (options !== NO_OPTIONS) {
      const { applySettings, normalizeMethod } = inits.use();
      self.#settings = applySettings(options, self.#settings, prefix);
      if (options.method !== undefined) self.#method = normalizeMethod(options.method, prefix);
    }
    const method = self.#method;
    if (self.#settings.mode === "no-cors" && method !== "GET" && method !== "HEAD" && method !== "POST") {
      throw new TypeError(`${prefix}: '${method}' is not allowed in no-cors mode`);
    }
    if (options.signal !== undefined) self.#follows = options.signal === null ? undefined : options.signal;
    let list = options.headers !== undefined
      ? validateList(options.headers, prefix)
      : from === null ? [] : copyList(headerListOf(from));
    if (self.#settings.mode === "no-cors") list = guards.use().allowedList("request-no-cors", list);
    self.#headers = list;

    const inputBody = from === null ? null : bodyOf(from);
    const given = options.body !== undefined && options.body !== null;
    if ((given || inputBody !== null) && (method === "GET" || method === "HEAD")) {
      throw new TypeError(`${prefix}: Request with GET/HEAD method cannot have body`);
    }
    let body = null;
    if (given) {
      body = extractBody(options.body, prefix);
      if (body.kind === BODY_STREAM && self.#settings.keepalive) throw new TypeError(`${prefix}: A stream cannot be kept alive`);
      const type = lastExtractedType();
      if (type !== null && !hasHeader(list, "content-type")) {
        ArrayPrototypePush(list, "content-type", type);
      }
    }
    const whole = given ? body : inputBody;
    if (whole !== null && whole.kind === BODY_STREAM && self.#settings.mode === "no-cors") {
      throw new TypeError(`${prefix}: A stream cannot be sent in no-cors mode`);
    }
    if (!given && inputBody !== null) {
      if (isUnusable(inputBody)) throw new TypeError(`${prefix}: The request's body has been read already, or is locked`);
      body = transferBody(inputBody);
    }
    self.#body = body;
  }

  static #clone(self, from) {
    const body = bodyOf(from);
    if (body !== null && isUnusable(body)) {
      throw new TypeError("Failed to execute 'clone' on 'Request': The body has been read already, or is locked");
    }
    self.#method = methodOf(from);
    self.#url = urlOf(from);
    self.#settings = from.#settings;
    const list = copyList(headerListOf(from));
    self.#headers = from.#id === 0 ? list : headersFromList(list, "immutable");
    self.#body = body === null ? null : cloneBody(body);
    self.#follows = from;
  }

  get method() {
    return methodOf(this);
  }

  get url() {
    return urlOf(this);
  }

  get headers() {
    return headersOf(this);
  }

  get destination() {
    this.#id; // The brand.
    return "";
  }

  get referrer() {
    return this.#settings.referrer;
  }

  get referrerPolicy() {
    return this.#settings.referrerPolicy;
  }

  get mode() {
    return this.#settings.mode;
  }

  get credentials() {
    return this.#settings.credentials;
  }

  get cache() {
    return this.#settings.cache;
  }

  get redirect() {
    return this.#settings.redirect;
  }

  get integrity() {
    return this.#settings.integrity;
  }

  get keepalive() {
    return this.#settings.keepalive;
  }

  get isReloadNavigation() {
    this.#id;
    return false;
  }

  get isHistoryNavigation() {
    this.#id;
    return false;
  }

  get signal() {
    return signalOf(this);
  }

  get duplex() {
    this.#id;
    return "half";
  }

  clone() {
    this.#id;
    return new Request(CLONE, this);
  }

  static {
    isRequest = (value) => typeof value === "object" && value !== null && #id in value;
    methodOf = (request) => {
      if (request.#method === undefined) request.#method = op_request_method(request.#id);
      return request.#method;
    };
    urlOf = (request) => {
      if (request.#url === undefined) request.#url = op_request_url(request.#id);
      return request.#url;
    };
    bodyOf = (request) => {
      if (request.#body === undefined) request.#body = bodyFromNative(op_request_body(request.#id));
      return request.#body;
    };
    headersOf = (request) => {
      const headers = request.#headers;
      if (headers === undefined) {
        const id = request.#id;
        return (request.#headers = headersFromThunk(() => op_request_headers(id), "immutable"));
      }
      if (!ArrayIsArray(headers)) return headers;
      return (request.#headers = headersFromList(headers, request.#settings.mode === "no-cors" ? "request-no-cors" : "request"));
    };
    headerListOf = (request) => (ArrayIsArray(request.#headers) ? request.#headers : flatHeaders(headersOf(request)));
    settingsOf = (request) => request.#settings;
    signalOf = (request) => {
      if (request.#signal === undefined) request.#signal = makeSignal(request.#follows);
      return request.#signal;
    };
    signalToMind = (request) =>
      request.#id === 0 && request.#signal === undefined && request.#follows === undefined ? null : signalOf(request);
    abortNativeRequest = (request, reason) => {
      if (request.#signal !== undefined) aborts.use().signalAbort(request.#signal, reason);
      else request.#follows = { __proto__: null, reason };
    };
  }
}
mixinBody(Request, bodyOf, (request) => getHeader(headerListOf(request), "content-type"));
webidl.configureInterface(Request);
registerPlatformClass(Request, ["method", "url", "bodyUsed"]);

function makeSignal(follows) {
  const { createDependentSignal, createSignal, isSignal, signalAbort } = aborts.use();
  if (isSignal(follows)) return createDependentSignal([follows]);
  if (isRequest(follows)) return createDependentSignal([signalOf(follows)]);
  const signal = createSignal();
  if (follows !== undefined) signalAbort(signal, follows.reason);
  return signal;
}

/** The Request of an incoming request. */
function requestFromNative(id) {
  return new Request(NATIVE, id);
}

module.exports = {
  Request, isRequest, requestFromNative, abortNativeRequest, methodOf, urlOf, headerListOf, bodyOf, settingsOf, signalToMind,
};
