// @ts-check
"use strict";
// MessageChannel and MessagePort (https://html.spec.whatwg.org/multipage/web-messaging.html#message-channels), within a worker:
// a message is cloned when it is posted, and delivered in a task of the request that posted it. Messages of one request to a
// port arrive in the order in which they were posted.
//
// A port that is transferred stays in its worker, as all that can get it is there.
//
// Deviations: no port ever gets a messageerror: what cannot be cloned throws where it is posted. What waits when its request ends
// is lost with the request.

const {
  ArrayPrototypePush, ArrayPrototypeShift, FunctionPrototypeCall, ObjectDefineProperty, SymbolIterator,
  safeArrayIterator, safeGetOwnPropertyDescriptor,
} = require("primordials");
const webidl = require("webidl");
const { EventTarget, Event, defineEventHandler, fire } = require("dom/event");
const { MessageEvent } = require("dom/events");
const { registerPlatformClass } = require("platform_classes");
const { DOMException } = require("dom/exception");
const { cloneWithTransfer, convertOptions } = require("structured_clone");
const { startTimer } = require("timers");

/** First argument of the constructor within this file. */
const INTERNAL = { __proto__: null };

/** @type {(one: any, other: any) => void} */
let entangle;
/** @type {(port: any) => void} */
let startPort;
/** @type {(value: any) => boolean} */
let isPort;
/** @type {(port: any, prefix: string) => any[]} For structuredClone: the port that takes its place, and a function that moves it. */
let startTransfer;

class MessagePort extends EventTarget {
  /** @type {any} The other end; undefined once either was closed. */
  #other = undefined;
  /** @type {any[]} Messages that came before the port was started. */
  #waiting = [];
  #started = false;
  /** @type {any} The port that took its place when it was transferred. */
  #heir = undefined;

  constructor() {
    if (arguments[0] !== INTERNAL) webidl.illegalConstructor();
    super();
  }

  postMessage(message, options = undefined) {
    const prefix = "Failed to execute 'postMessage' on 'MessagePort'";
    if (!(#other in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 1, prefix);
    const { transfer } = convertOptions(transferOptions(options), prefix, "Argument 2");
    for (let i = 0; i < transfer.length; i++) {
      if (transfer[i] === this) throw new DOMException(`${prefix}: a port cannot be posted to itself`, "DataCloneError");
    }
    const other = this.#other;
    const { clone, ports } = cloneWithTransfer(message, transfer, prefix);
    other?.#take({ __proto__: null, data: clone, ports });
  }

  start() {
    if (!(#other in this)) throw webidl.brandError("Failed to execute 'start' on 'MessagePort'");
    if (this.#started) return;
    this.#started = true;
    for (const list = this.#waiting; list.length > 0;) this.#schedule(ArrayPrototypeShift(list));
  }

  close() {
    if (!(#other in this)) throw webidl.brandError("Failed to execute 'close' on 'MessagePort'");
    const other = this.#other;
    if (other === undefined) return;
    this.#other = other.#other = undefined;
    this.#waiting = [];
    startTimer(() => fire(other, new Event("close")), 0);
  }

  #take(message) {
    if (this.#heir !== undefined) this.#heir.#take(message);
    else if (this.#started) this.#schedule(message);
    else ArrayPrototypePush(this.#waiting, message);
  }

  #schedule(message) {
    startTimer(() => {
      if (this.#heir !== undefined) this.#heir.#take(message);
      else fire(this, messageEvent(message.data, message.ports));
    }, 0);
  }

  /** Everything of this port becomes the other's. */
  #move(heir) {
    const other = this.#other;
    heir.#other = other;
    if (other !== undefined) other.#other = heir;
    heir.#waiting = this.#waiting;
    this.#other = undefined;
    this.#waiting = [];
    this.#heir = heir;
  }

  static {
    entangle = (one, other) => {
      one.#other = other;
      other.#other = one;
    };
    startPort = (port) => port.start();
    isPort = (value) => webidl.isObject(value) && #other in value;
    startTransfer = (port, prefix) => {
      if (port.#heir !== undefined) throw new DOMException(`${prefix}: a port has been transferred already`, "DataCloneError");
      const heir = new MessagePort(/** @type {any} */ (INTERNAL));
      return [heir, () => port.#move(heir)];
    };
  }
}

/** The ports go by a sequence, which must not be an app's idea of one. */
function messageEvent(data, ports) {
  const list = { __proto__: null, [SymbolIterator]: () => safeArrayIterator(ports) };
  return new MessageEvent("message", { __proto__: null, data, ports: list });
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

module.exports = { MessageChannel, MessagePort, isPort, startTransfer };
