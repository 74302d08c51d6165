// @ts-check
"use strict";
// WebSocket (https://websockets.spec.whatwg.org/#the-websocket-interface), for three kinds of
// sockets: those that an app connects (`new WebSocket`), the ends of a WebSocketPair, and those
// that fetch() brings (`response.webSocket`). The last two are as in Workers: they must be
// accepted, or passed on in a Response.
//
// A socket belongs to the request that made it and ends with it; its listeners run in that
// request's async context. Its connection is behind op_websocket_*: a close message of the peer is
// answered there, and pings are not visible.
//
// Deviations: accepted sockets have "arraybuffer" as their binaryType, may use the codes that
// servers use, and throw when something is sent after their end, as Workers' do. bufferedAmount
// counts what the connection has not taken yet; when more than 1 MB would wait, the socket is
// closed, with an error.

const { ArrayPrototypePush, PromisePrototypeThen, PromiseResolve, SafeMap, TypeError } = require("primordials");
const {
  op_websocket_accept, op_websocket_buffered, op_websocket_cancel, op_websocket_close, op_websocket_connect, op_websocket_drop,
  op_websocket_send,
} = require("ops");
const webidl = require("webidl");
const { currentFrame, currentRequest, swapFrame } = require("request_scope");
const { EventTarget, Event, defineEventHandler, fire } = require("dom/event");
const { CloseEvent, ErrorEvent, MessageEvent } = require("dom/events");
const { DOMException } = require("dom/exception");
const { asBytes } = require("infra/bytes");
const { registerPlatformClass } = require("platform_classes");
const {
  convertCode, convertMessage, convertProtocols, convertReason, convertUrl, httpUrl, lengthOfMessage, originOf,
} = require("websocket/arguments");

const blobs = lazy("file/blob");

const CONNECTING = 0, OPEN = 1, CLOSING = 2, CLOSED = 3;
/** Of events: what came. Text is 0. A connection that was lost ends without an error, as the standard has it. */
const BINARY = 1, CLOSE = 2, FAILED = 3, LOST = 4;
/** op_websocket_send: too much waits, and the socket was given up. */
const TOO_MUCH = -2;

/** First argument of the constructor within this folder: the second is the socket's id. */
const INTERNAL = { __proto__: null };

/** Those that listen, by id. */
const sockets = new SafeMap();
/** The same by the request that they belong to. */
const byRequest = new SafeMap();

/** @type {(value: any) => boolean} */
let isWebSocket;
/** @type {(socket: any, prefix: string) => void} Throws if it cannot be handed on. */
let checkUnused;
/** @type {(socket: any) => number} Takes the id; nothing can be done with the object after that. */
let takeSocket;
/** @type {(socket: any, kind: number, data: any, reason: any) => void} */
let deliver;
/** @type {(socket: any) => void} */
let forget;

class WebSocket extends EventTarget {
  #id = 0;
  #state = OPEN;
  #client = false;
  #accepted = false;
  #used = false;
  #url = "";
  #protocol = "";
  #binaryType = "arraybuffer";
  #request = 0;
  /** @type {any} The async context of its listeners. */
  #frame = undefined;
  /** Bytes that were given to `send` after the end. */
  #unsent = 0;
  /** While it connects: what to cancel. */
  #connecting = 0;

  constructor(url, protocols = undefined) {
    super();
    if (url === INTERNAL) {
      this.#id = arguments[1];
      this.#request = currentRequest();
      this.#frame = currentFrame();
      return;
    }
    const prefix = "Failed to construct 'WebSocket'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    this.#url = convertUrl(url, prefix);
    const offered = convertProtocols(protocols, prefix);
    this.#client = true;
    this.#binaryType = "blob";
    this.#state = CONNECTING;
    this.#request = currentRequest();
    this.#frame = currentFrame();
    const connecting = op_websocket_connect(this.#request, httpUrl(this.#url), offered);
    this.#connecting = connecting[0];
    PromisePrototypeThen(connecting[1], (opened) => this.#open(opened[0], opened[1], offered.length > 0),
      (error) => this.#fail(`${error.message}`));
  }

  #open(id, protocol, mustChoose) {
    if (this.#state !== CONNECTING || (mustChoose && protocol === "")) {
      op_websocket_drop(id);
      if (this.#state === CONNECTING) this.#fail("the server chose none of the subprotocols");
      return;
    }
    this.#id = id;
    this.#protocol = protocol;
    this.#state = OPEN;
    this.#listen();
    fire(this, new Event("open"));
  }

  /** No connection was made. */
  #fail(message) {
    if (this.#state === CLOSED) return;
    this.#state = CLOSED;
    fire(this, new ErrorEvent("error", { __proto__: null, message }));
    fire(this, new CloseEvent("close", { __proto__: null, wasClean: false, code: 1006, reason: "" }));
  }

  #listen() {
    sockets.set(this.#id, this);
    const own = byRequest.get(this.#request);
    if (own === undefined) byRequest.set(this.#request, [this]);
    else ArrayPrototypePush(own, this);
    this.#accepted = true;
    op_websocket_accept(this.#id);
  }

  accept() {
    const prefix = "Failed to execute 'accept' on 'WebSocket'";
    if (this.#client) throw new TypeError(`${prefix}: A WebSocket that was made by its constructor needs no accept()`);
    if (this.#used) throw new TypeError(`${prefix}: The WebSocket was handed on in a Response`);
    if (!this.#accepted) this.#listen();
  }

  send(data) {
    const prefix = "Failed to execute 'send' on 'WebSocket'";
    if (!(#id in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 1, prefix);
    const message = convertMessage(data, prefix);
    if (this.#state === CONNECTING) throw new DOMException(`${prefix}: It is still connecting`, "InvalidStateError");
    this.#checkAccepted(prefix);
    if (this.#state !== OPEN) {
      if (!this.#client) throw new TypeError(`${prefix}: The WebSocket was closed`);
      this.#unsent += lengthOfMessage(message);
      return;
    }
    // Its error comes as an event, in a turn of its own.
    if (op_websocket_send(this.#id, message) === TOO_MUCH) this.#state = CLOSING;
  }

  close(code = undefined, reason = undefined) {
    const prefix = "Failed to execute 'close' on 'WebSocket'";
    if (!(#id in this)) throw webidl.brandError(prefix);
    code = convertCode(code, !this.#client, prefix);
    reason = convertReason(reason, prefix);
    if (this.#state === CONNECTING) {
      this.#state = CLOSING;
      op_websocket_cancel(this.#connecting);
      PromisePrototypeThen(PromiseResolve(undefined), () => this.#fail("it was closed before the connection was made"));
      return;
    }
    this.#checkAccepted(prefix);
    if (this.#state !== OPEN) return;
    this.#state = CLOSING;
    op_websocket_close(this.#id, code === 0 && reason !== "" ? 1000 : code, reason);
  }

  #checkAccepted(prefix) {
    if (this.#used) throw new TypeError(`${prefix}: The WebSocket was handed on in a Response`);
    if (!this.#client && !this.#accepted) throw new TypeError(`${prefix}: Call accept() first`);
  }

  get readyState() {
    return this.#state;
  }

  get url() {
    return this.#url;
  }

  get protocol() {
    return this.#protocol;
  }

  get extensions() {
    return "";
  }

  get bufferedAmount() {
    return this.#unsent + (this.#accepted && this.#state !== CLOSED ? op_websocket_buffered(this.#id) : 0);
  }

  get binaryType() {
    return this.#binaryType;
  }

  set binaryType(value) {
    value = webidl.converters.DOMString(value, "Failed to set 'binaryType' on 'WebSocket'", "Value");
    // Other values of an enumeration are ignored.
    if (value === "blob" || value === "arraybuffer") this.#binaryType = value;
  }

  static {
    isWebSocket = (value) => webidl.isObject(value) && #id in value;

    checkUnused = (socket, prefix) => {
      if (socket.#used) throw new TypeError(`${prefix}: The WebSocket was handed on in another Response already`);
      if (socket.#accepted || socket.#client) {
        throw new TypeError(`${prefix}: A WebSocket that was accepted cannot be handed on: give the other end of the pair`);
      }
    };

    takeSocket = (socket) => {
      socket.#used = true;
      return socket.#id;
    };

    deliver = (socket, kind, data, reason) => {
      const before = swapFrame(socket.#frame);
      try {
        if (kind >= CLOSE) {
          socket.#state = CLOSED;
          sockets.delete(socket.#id);
          forgetOfRequest(socket, socket.#request);
          const clean = kind === CLOSE;
          if (kind === FAILED) fire(socket, new ErrorEvent("error", { __proto__: null, message: data }));
          const init = { __proto__: null, wasClean: clean, code: clean ? data : 1006, reason: clean ? reason : "" };
          fire(socket, new CloseEvent("close", init));
        } else if (socket.#state === OPEN) {
          const blob = kind === BINARY && socket.#binaryType === "blob";
          const init = {
            __proto__: null, data: blob ? blobs.use().blobFromBytes(asBytes(data), "") : data,
            origin: socket.#client ? originOf(socket.#url) : "",
          };
          fire(socket, new MessageEvent("message", init));
        }
      } finally {
        swapFrame(before);
      }
    };

    forget = (socket) => {
      socket.#state = CLOSED;
      sockets.delete(socket.#id);
    };
  }
}
webidl.configureInterface(WebSocket);
webidl.defineConstants(WebSocket, { CONNECTING, OPEN, CLOSING, CLOSED });
defineEventHandler(WebSocket.prototype, "onopen");
defineEventHandler(WebSocket.prototype, "onmessage");
defineEventHandler(WebSocket.prototype, "onerror");
defineEventHandler(WebSocket.prototype, "onclose");
registerPlatformClass(WebSocket, ["url", "readyState", "protocol"]);

function forgetOfRequest(socket, request) {
  const own = byRequest.get(request);
  if (own === undefined) return;
  let kept = 0;
  for (let i = 0; i < own.length; i++) if (own[i] !== socket) own[kept++] = own[i];
  own.length = kept;
  if (kept === 0) byRequest.delete(request);
}

/** Something has come for a socket. What its listeners throw is reported, and goes no further. */
function deliverSocket(id, kind, data, reason) {
  const socket = sockets.get(id);
  if (socket !== undefined) deliver(socket, kind, data, reason);
}

/** The request is over, and its sockets with it. */
function dropSockets(request) {
  const own = byRequest.get(request);
  if (own === undefined) return;
  byRequest.delete(request);
  for (let i = 0; i < own.length; i++) forget(own[i]);
}

function socketFromNative(id) {
  return new WebSocket(INTERNAL, id);
}

module.exports = { WebSocket, isWebSocket, checkUnused, takeSocket, socketFromNative, deliverSocket, dropSockets };
