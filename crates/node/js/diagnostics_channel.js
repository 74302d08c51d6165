"use strict";
// node:diagnostics_channel (https://nodejs.org/api/diagnostics_channel.html): named channels. What is made of several
// channels, bounded and tracing ones, is in internal/diagnostics/.
//
// Deviations: channels are kept for as long as the worker lives, also those without subscribers. The runtime's own
// parts (http, net, modules) publish nothing, but for those whose files say so.

const { ERR_INVALID_ARG_TYPE } = require("internal/errors");
const { validateFunction } = require("internal/validators");

const channels = new Map();

/** Uncaught, but only after the publisher is done. */
function report(error) {
  require("process").nextTick(() => { throw error; });
}

const NO_SCOPE = { [Symbol.dispose]() {} };

class Channel {
  // Undefined as long as there are none, which is what packages look at.
  _subscribers = undefined;
  _stores = undefined;

  constructor(name) {
    this.name = name;
    channels.set(name, this);
  }

  get hasSubscribers() {
    return this._subscribers !== undefined || this._stores !== undefined;
  }

  subscribe(subscription) {
    validateFunction(subscription, "subscription");
    // A copy: publish goes on with the list that it has.
    this._subscribers = [...(this._subscribers ?? []), subscription];
  }

  unsubscribe(subscription) {
    const at = this._subscribers?.indexOf(subscription) ?? -1;
    if (at < 0) return false;
    const left = this._subscribers.toSpliced(at, 1);
    this._subscribers = left.length > 0 ? left : undefined;
    return true;
  }

  bindStore(store, transform) {
    (this._stores ??= new Map()).set(store, transform);
  }

  unbindStore(store) {
    if (!this._stores?.delete(store)) return false;
    if (this._stores.size === 0) this._stores = undefined;
    return true;
  }

  publish(data) {
    const subscribers = this._subscribers;
    if (subscribers === undefined) return;
    for (const subscriber of subscribers) {
      try {
        subscriber(data, this.name);
      } catch (error) {
        report(error);
      }
    }
  }

  /** The bound stores have their values until the scope is disposed of. */
  withStoreScope(data) {
    if (!this.hasSubscribers) return NO_SCOPE;
    const scopes = new DisposableStack();
    try {
      for (const [store, transform] of this._stores ?? []) {
        let value = data;
        try {
          if (transform) value = transform(data);
        } catch (error) {
          report(error);
          continue;
        }
        scopes.use(store.withScope(value));
      }
      this.publish(data);
      return scopes.move();
    } finally {
      // Of those that were entered before something threw; otherwise it has none any more.
      scopes.dispose();
    }
  }

  runStores(data, fn, thisArg, ...args) {
    const scope = this.withStoreScope(data);
    try {
      return Reflect.apply(fn, thisArg, args);
    } finally {
      scope[Symbol.dispose]();
    }
  }
}

function channel(name) {
  const known = channels.get(name);
  if (known !== undefined) return known;
  if (typeof name !== "string" && typeof name !== "symbol") throw new ERR_INVALID_ARG_TYPE("channel", ["string", "symbol"], name);
  return new Channel(name);
}

const subscribe = (name, subscription) => channel(name).subscribe(subscription);
const unsubscribe = (name, subscription) => channel(name).unsubscribe(subscription);
const hasSubscribers = (name) => channels.get(name)?.hasSubscribers ?? false;

module.exports = { channel, hasSubscribers, subscribe, unsubscribe, Channel };

const { BoundedChannel, TracingChannel } = require("internal/diagnostics/windows");
Object.assign(module.exports, {
  boundedChannel: (nameOrChannels) => new BoundedChannel(nameOrChannels), BoundedChannel,
  tracingChannel: (nameOrChannels) => new TracingChannel(nameOrChannels), TracingChannel,
});
