// @ts-check
"use strict";
// BroadcastChannel (https://html.spec.whatwg.org/multipage/web-messaging.html#broadcasting-to-other-browsing-contexts), within
// a worker: a message is cloned for each of the other channels of its name, and delivered in a task of the request that posted it.
//
// Deviations: other workers of an app, of the same version too, get nothing. A channel that a request made is closed when the
// request ends; those made while the module is evaluated stay.

const { SafeMap, SafeSet } = require("primordials");
const webidl = require("webidl");
const { EventTarget, defineEventHandler, fire } = require("dom/event");
const { MessageEvent } = require("dom/events");
const { DOMException } = require("dom/exception");
const { registerPlatformClass } = require("platform_classes");
const { OUTSIDE, currentRequest } = require("request_scope");
const { structuredClone } = require("structured_clone");
const { startTimer } = require("timers");

/** Those that are open, in the order in which they were made. */
const channels = new SafeSet();
/** Request to the SafeSet of its channels. */
const byRequest = new SafeMap();

let nameOf, isOpen, closeChannel;

class BroadcastChannel extends EventTarget {
  #name;
  #request;
  #closed = false;

  constructor(name) {
    const prefix = "Failed to construct 'BroadcastChannel'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    super();
    this.#name = webidl.converters.USVString(name, prefix, "Argument 1");
    this.#request = currentRequest();
    channels.add(this);
    if (this.#request === OUTSIDE) return;
    let own = byRequest.get(this.#request);
    if (own === undefined) byRequest.set(this.#request, own = new SafeSet());
    own.add(this);
  }

  get name() { return this.#name; }

  postMessage(message) {
    const prefix = "Failed to execute 'postMessage' on 'BroadcastChannel'";
    if (!(#closed in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 1, prefix);
    if (this.#closed) throw new DOMException(`${prefix}: the channel is closed`, "InvalidStateError");
    // What cannot be cloned throws, also when there is no other channel.
    const data = structuredClone(message);
    let isFirst = true;
    channels.forEach((channel) => {
      if (channel === this || nameOf(channel) !== this.#name) return;
      const copy = isFirst ? data : structuredClone(message);
      isFirst = false;
      startTimer(() => {
        if (isOpen(channel)) fire(channel, new MessageEvent("message", { __proto__: null, data: copy }));
      }, 0);
    });
  }

  close() {
    if (!(#closed in this)) throw webidl.brandError("Failed to execute 'close' on 'BroadcastChannel'");
    closeChannel(this);
    byRequest.get(this.#request)?.delete(this);
  }

  static {
    nameOf = (channel) => channel.#name;
    isOpen = (channel) => !channel.#closed;
    closeChannel = (channel) => {
      channel.#closed = true;
      channels.delete(channel);
    };
  }
}
defineEventHandler(BroadcastChannel.prototype, "onmessage");
defineEventHandler(BroadcastChannel.prototype, "onmessageerror");
webidl.configureInterface(BroadcastChannel);
registerPlatformClass(BroadcastChannel, ["name"]);

/** The request is over. */
function dropChannels(request) {
  const own = byRequest.get(request);
  if (own === undefined) return;
  byRequest.delete(request);
  own.forEach(closeChannel);
}

module.exports = { BroadcastChannel, dropChannels };
