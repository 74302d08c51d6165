// @ts-check
"use strict";
// MessageChannel and MessagePort (https://html.spec.whatwg.org/multipage/web-messaging.html#message-channels), within a worker:
// a message is cloned when it is posted, and delivered in a task of the request that posted it. Messages of one request to a
// port arrive in the order in which they were posted.
//
// Deviations: ports cannot be transferred, so both ends stay in their worker, and no port ever gets a messageerror: what
// cannot be cloned throws where it is posted. What waits when its request ends is lost with the request.

const {
  ArrayPrototypePush, ArrayPrototypeShift, FunctionPrototypeCall, ObjectDefineProperty, SymbolIterator,
  safeGetOwnPropertyDescriptor,
} = require("primordials");
const webidl = require("webidl");
const { EventTarget, Event, defineEventHandler, fire } = require("dom/event");
const { MessageEvent } = require("dom/events");
const { registerPlatformClass } = require("platform_classes");
const { structuredClone } = require("structured_clone");
const { startTimer } = require("timers");

/** First argument of the constructor within this file. */
const INTERNAL = { __proto__: null };

/** @type {(one: any, other: any) => void} */
let entangle;
/** @type {(port: any) => void} */
let startPort;

class MessagePort extends EventTarget {
  /** @type {any} The other end; undefined once either was closed. */
  #other = undefined;
  /** @type {any[]} Messages that came before the port was started. */
  #waiting = [];
  #started = false;

  constructor() {
    if (arguments[0] !== INTERNAL) webidl.illegalConstructor();
    super();
  }

  postMessage(message, options = undefined) {
    const prefix = "Failed to execute 'postMessage' on 'MessagePort'";
    if (!(#other in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 1, prefix);
    const data = structuredClone(message, transferOptions(options));
    this.#other?.#take(data);
  }

  start() {
    if (!(#other in this)) throw webidl.brandError("Failed to execute 'start' on 'MessagePort'");
    if (this.#started) return;
    this.#started = true;
    for (let data = this.#waiting; data.length > 0;) this.#schedule(ArrayPrototypeShift(data));
  }

  close() {
    if (!(#other in this)) throw webidl.brandError("Failed to execute 'close' on 'MessagePort'");
    const other = this.#other;
    if (other === undefined) return;
    this.#other = other.#other = undefined;
    this.#waiting = [];
    startTimer(() => fire(other, new Event("close")), 0);
  }

  #take(data) {
    if (this.#started) this.#schedule(data);
    else ArrayPrototypePush(this.#waiting, data);
  }

  #schedule(data) {
    startTimer(() => fire(this, new MessageEvent("message", { __proto__: null, data })), 0);
  }

  static {
    entangle = (one, other) => {
      one.#other = other;
      other.#other = one;
    };
    startPort = (port) => port.start();
  }
}

/** A sequence of what is to be transferred, or options that have it. */
function transferOptions(options) {
  const isSequence = webidl.isObject(options) && options[SymbolIterator] !== undefined;
  return isSequence ? { __proto__: null, transfer: options } : options;
}

defineEventHandler(MessagePort.prototype, "onmessage");
defineEventHandler(MessagePort.prototype, "onmessageerror");
defineEventHandler(MessagePort.prototype, "onclose");
startWithHandler();
webidl.configureInterface(MessagePort);
registerPlatformClass(MessagePort, []);

/** A port with a handler for messages starts by itself; one with listeners alone waits for start(). */
function startWithHandler() {
  const { get, set } = safeGetOwnPropertyDescriptor(MessagePort.prototype, "onmessage");
  const start = startPort;
  const accessor = {
    set onmessage(value) {
      FunctionPrototypeCall(set, this, value);
      start(this);
    },
  };
  ObjectDefineProperty(MessagePort.prototype, "onmessage", {
    __proto__: null, get, set: safeGetOwnPropertyDescriptor(accessor, "onmessage").set, enumerable: true, configurable: true,
  });
}

class MessageChannel {
  #port1 = new MessagePort(INTERNAL);
  #port2 = new MessagePort(INTERNAL);

  constructor() {
    entangle(this.#port1, this.#port2);
  }

  get port1() { return this.#port1; }
  get port2() { return this.#port2; }
}
webidl.configureInterface(MessageChannel);
registerPlatformClass(MessageChannel, ["port1", "port2"]);

module.exports = { MessageChannel, MessagePort };
