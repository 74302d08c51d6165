// @ts-check
"use strict";
// https://fetch.spec.whatwg.org/#response-class. `new Response("text")` is one object: its Headers
// and its body are made on first access, and without them it is sent directly (respondNative,
// plainBody).
//
// Deviations, as servers need them: Set-Cookie is a header like any other; fetch() gives responses
// as they came, of type "basic", also those of a redirect that was not followed. As in Workers, a
// response of status 101 has a `webSocket`: the end that the client gets, or that fetch() brought.

const {
  ArrayIsArray, ArrayPrototypePush, JSONStringify, RangeError, StringPrototypeCharCodeAt, TypeError,
} = require("primordials");
const { op_respond } = require("ops");
const webidl = require("webidl");
const {
  convertHeadersInit, copyList, flatHeaders, getHeader, hasHeader, headersFromList, validateList,
} = require("fetch/headers");
const {
  BODY_NATIVE, BODY_NONE, BODY_TEXT, InnerBody, TEXT_TYPE, bodyForNative, bodyFromNative, cloneBody, convertBodyInit, extractBody,
  isUnusable, lastExtractedType,
} = require("fetch/inner_body");
const { mixinBody } = require("fetch/body");
const { registerPlatformClass } = require("platform_classes");

const urls = lazy("url/url");
const sockets = lazy("websocket/socket");
const isWebSocket = (value) => sockets.exports !== undefined && sockets.exports.isWebSocket(value);

// What op_respond calls the kinds of headers: none, only the content type of text or JSON, a list.
const HEADERS_NONE = 0, HEADERS_TEXT = 1, HEADERS_JSON = 2, HEADERS_LIST = 3;
const JSON_TYPE = "application/json";

const toByteString = webidl.converters.ByteString;
const toUnsignedShort = webidl.converters["unsigned short"];
const toWebSocket = webidl.createNullableConverter(webidl.createInterfaceConverter("WebSocket", isWebSocket));

/** Instead of a body that was a string and has been sent. */
const SENT = 0;

// What only responses from elsewhere have to tell of.
const PLAIN = { __proto__: null, type: "default", url: "", redirected: false, guard: "response", webSocket: null };
const REDIRECT = { __proto__: null, type: "default", url: "", redirected: false, guard: "immutable", webSocket: null };
const ERROR = { __proto__: null, type: "error", url: "", redirected: false, guard: "immutable", webSocket: null };

/** First argument of the constructor within this file, which then sees to the fields itself. */
const INTERNAL = { __proto__: null };

// Friends.
/** @type {(value: any) => boolean} */
let isResponse;
/** @type {(response: any) => any} InnerBody or null. */
let bodyOf;
/** @type {(response: any) => string[]} The header list itself. */
let headerListOf;
/** @type {(requestId: number, response: any) => boolean} Says whether the body goes on by itself after this. */
let respondNative;
/** @type {(response: any) => string | undefined} */
let plainBody;
/** @type {(head: any[]) => any} Of a FetchHead; in place of the body's id may be an InnerBody. */
let responseFromNative;

class Response {
  #status = 200;
  #statusText = "";
  #kind = HEADERS_NONE;
  /** @type {any} With HEADERS_LIST: a header list until the object is accessed. */
  #headers = null;
  /** @type {any} null: none; a string, if it was not accessed yet; SENT; an InnerBody. */
  #body = null;
  #origin = PLAIN;

  constructor(body = null, init = undefined) {
    if (body === INTERNAL) return;
    const prefix = "Failed to construct 'Response'";
    const source = typeof body === "string" || body === null ? body : convertBodyInit(body, prefix, "Argument 1");
    Response.#initialize(this, source, init, false, prefix);
  }

  /** `source` is null, what convertBodyInit returned, or a value to be turned into JSON. Static, for less fields. */
  static #initialize(self, source, init, asJson, prefix) {
    let list = null;
    let status = 200;
    let statusText = "";
    let webSocket = null;
    if (init !== undefined && init !== null) {
      if (!webidl.isObject(init)) throw webidl.conversionError(prefix, "Argument 2", "cannot be converted to a dictionary");
      const givenHeaders = init.headers;
      if (givenHeaders !== undefined) list = convertHeadersInit(givenHeaders, prefix, "'headers' of 'ResponseInit'");
      const givenStatus = init.status;
      if (givenStatus !== undefined) status = toUnsignedShort(givenStatus, prefix, "'status' of 'ResponseInit'");
      const givenText = init.statusText;
      if (givenText !== undefined) statusText = toByteString(givenText, prefix, "'statusText' of 'ResponseInit'");
      webSocket = toWebSocket(init.webSocket, prefix, "'webSocket' of 'ResponseInit'");
    }

    let body = source;
    let type = TEXT_TYPE;
    if (asJson) {
      body = JSONStringify(source);
      if (typeof body !== "string") throw new TypeError(`${prefix}: The value is not JSON serializable`);
      type = JSON_TYPE;
    } else if (source !== null && typeof source !== "string") {
      body = extractBody(source, prefix);
      type = lastExtractedType();
    }

    if (webSocket !== null) {
      if (status !== 101) throw new RangeError(`${prefix}: A response with a WebSocket has the status 101, not ${status}`);
      sockets.use().checkUnused(webSocket, prefix);
      self.#origin = { __proto__: null, type: "default", url: "", redirected: false, guard: "response", webSocket };
    } else if (status < 200 || status > 599) {
      throw new RangeError(`${prefix}: The status ${status} is outside the range [200, 599]`);
    }
    if (statusText !== "" && !isReasonPhrase(statusText)) throw new TypeError(`${prefix}: Invalid statusText`);
    if (list !== null) validateList(list, prefix);
    if (body !== null) {
      if (isNullBodyStatus(status)) throw new TypeError(`${prefix}: Response with status ${status} cannot have body`);
      if (list === null) {
        if (type === TEXT_TYPE) self.#kind = HEADERS_TEXT;
        else if (type === JSON_TYPE) self.#kind = HEADERS_JSON;
        else if (type !== null) list = ["content-type", type];
      } else if (type !== null && !hasHeader(list, "content-type")) {
        ArrayPrototypePush(list, "content-type", type);
      }
    }
    if (list !== null) {
      self.#kind = HEADERS_LIST;
      self.#headers = list;
    }
    self.#status = status;
    self.#statusText = statusText;
    self.#body = body;
  }

  static error() {
    const response = new Response(INTERNAL);
    response.#status = 0;
    response.#origin = ERROR;
    return response;
  }

  static redirect(url, status = 302) {
    const prefix = "Failed to execute 'redirect' on 'Response'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    url = webidl.converters.USVString(url, prefix, "Argument 1");
    status = toUnsignedShort(status, prefix, "Argument 2");
    const href = urls.use().parseHref(url);
    if (href === undefined) throw new TypeError(`${prefix}: Invalid URL: '${url}'`);
    if (status !== 301 && status !== 302 && status !== 303 && status !== 307 && status !== 308) {
      throw new RangeError(`${prefix}: The status ${status} is not one of a redirect`);
    }
    const response = new Response(INTERNAL);
    response.#status = status;
    response.#kind = HEADERS_LIST;
    response.#headers = ["location", href];
    response.#origin = REDIRECT;
    return response;
  }

  static json(data, init = undefined) {
    const prefix = "Failed to execute 'json' on 'Response'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    const response = new Response(INTERNAL);
    Response.#initialize(response, data, init, true, prefix);
    return response;
  }

  get type() {
    return this.#origin.type;
  }

  get url() {
    return this.#origin.url;
  }

  get redirected() {
    return this.#origin.redirected;
  }

  get status() {
    return this.#status;
  }

  get ok() {
    return this.#status >= 200 && this.#status <= 299;
  }

  get statusText() {
    return this.#statusText;
  }

  get webSocket() {
    return this.#origin.webSocket;
  }

  get headers() {
    const list = this.#headers;
    if (list !== null && !ArrayIsArray(list)) return list;
    return (this.#headers = headersFromList(headerListOf(this), this.#origin.guard));
  }

  clone() {
    if (this.#origin.webSocket !== null) {
      throw new TypeError("Failed to execute 'clone' on 'Response': A response with a WebSocket cannot be cloned");
    }
    const response = new Response(INTERNAL);
    if (typeof this.#body !== "string") {
      const body = bodyOf(this);
      if (body !== null && isUnusable(body)) {
        throw new TypeError("Failed to execute 'clone' on 'Response': The body has been read already, or is locked");
      }
      response.#body = body === null ? null : cloneBody(body);
    } else {
      response.#body = this.#body;
    }
    response.#status = this.#status;
    response.#statusText = this.#statusText;
    response.#kind = this.#kind;
    if (this.#kind === HEADERS_LIST) response.#headers = copyList(headerListOf(this));
    response.#origin = this.#origin;
    return response;
  }

  static {
    isResponse = (value) => typeof value === "object" && value !== null && #status in value;
    bodyOf = (response) => {
      const body = response.#body;
      if (typeof body !== "string" && body !== SENT) return body;
      const inner = new InnerBody(BODY_TEXT, body);
      inner.used = body === SENT;
      return (response.#body = inner);
    };
    headerListOf = (response) => {
      const kind = response.#kind;
      const headers = response.#headers;
      if (kind === HEADERS_LIST) return ArrayIsArray(headers) ? headers : flatHeaders(headers);
      response.#kind = HEADERS_LIST;
      return (response.#headers = kind === HEADERS_NONE ? [] : ["content-type", kind === HEADERS_TEXT ? TEXT_TYPE : JSON_TYPE]);
    };
    respondNative = (requestId, response) => {
      if (!isResponse(response)) throw new TypeError("The handler did not return a Response");
      const status = response.#status;
      const statusText = response.#statusText;
      if (status === 0) throw new TypeError("The handler returned Response.error(), which cannot be sent");
      const kind = response.#kind;
      const headers = kind === HEADERS_LIST ? headerListOf(response) : undefined;
      const body = response.#body;
      const { webSocket } = response.#origin;
      if (webSocket !== null) {
        const { checkUnused, takeSocket } = sockets.use();
        checkUnused(webSocket, "The response cannot be sent");
        op_respond(requestId, status, statusText, kind, headers, BODY_NONE, undefined, takeSocket(webSocket));
        return true;
      }
      if (typeof body === "string") {
        response.#body = SENT;
        op_respond(requestId, status, statusText, kind, headers, BODY_TEXT, body);
      } else if (body === null) {
        op_respond(requestId, status, statusText, kind, headers, BODY_NONE, undefined);
      } else {
        const sent = bodyForNative(bodyOf(response), requestId);
        op_respond(requestId, status, statusText, kind, headers, sent[0], sent[1]);
        return sent[0] === BODY_NATIVE;
      }
      return false;
    };
    plainBody = (response) => {
      if (!isResponse(response) || response.#kind !== HEADERS_TEXT || response.#status !== 200) return undefined;
      const body = response.#body;
      if (typeof body !== "string" || response.#statusText !== "") return undefined;
      response.#body = SENT;
      return body;
    };
    responseFromNative = (head) => {
      const response = new Response(INTERNAL);
      response.#status = head[0];
      response.#statusText = head[1];
      response.#kind = HEADERS_LIST;
      response.#headers = head[2];
      const webSocket = head[6] > 0 ? sockets.use().socketFromNative(head[6]) : null;
      response.#origin = { __proto__: null, type: "basic", url: head[3], redirected: head[4], guard: "immutable", webSocket };
      response.#body = typeof head[5] === "number" ? bodyFromNative(head[5]) : head[5];
      return response;
    };
  }
}
mixinBody(Response, bodyOf, (response) => getHeader(headerListOf(response), "content-type"));
webidl.configureInterface(Response);
registerPlatformClass(Response, ["status", "statusText", "url", "ok", "type", "bodyUsed"]);

/** As it is now: an app may change the prototype. */
const { arrayBuffer, clone } = Response.prototype;

function isNullBodyStatus(status) {
  return status === 204 || status === 205 || status === 304 || status === 101;
}

/** reason-phrase of RFC 9110: tab, space, visible characters and obs-text. */
function isReasonPhrase(text) {
  for (let i = 0; i < text.length; i++) {
    const code = StringPrototypeCharCodeAt(text, i);
    if (code !== 0x09 && (code < 0x20 || code === 0x7f)) return false;
  }
  return true;
}

module.exports = {
  Response, isResponse, bodyOf, headerListOf, respondNative, plainBody, responseFromNative, arrayBuffer, clone,
};
