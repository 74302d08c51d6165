"use strict";
// node:diagnostics_channel (https://nodejs.org/api/diagnostics_channel.html): Channel and TracingChannel.
//
// Deviation: channels are kept for as long as the worker lives, also those without subscribers.

const { ERR_INVALID_ARG_TYPE } = require("internal/errors");
const { validateFunction } = require("internal/validators");

const channels = new Map();

/** Uncaught, but only after the publisher is done. */
function report(error) {
  require("process").nextTick(() => { throw error; });
}

class Channel {
  _subscribers = [];
  _stores = new Map();

  constructor(name) {
    this.name = name;
  }

  get hasSubscribers() {
    return this._subscribers.length > 0 || this._stores.size > 0;
  }

  subscribe(subscription) {
    validateFunction(subscription, "subscription");
    // A copy: publish goes on with the list that it has.
    this._subscribers = [...this._subscribers, subscription];
  }

  unsubscribe(subscription) {
    const at = this._subscribers.indexOf(subscription);
    if (at < 0) return false;
    this._subscribers = this._subscribers.toSpliced(at, 1);
    return true;
  }

  bindStore(store, transform) {
    this._stores.set(store, transform);
  }

  unbindStore(store) {
    return this._stores.delete(store);
  }

  publish(data) {
    for (const subscriber of this._subscribers) {
      try {
        subscriber(data, this.name);
      } catch (error) {
        report(error);
      }
    }
  }

  runStores(data, fn, thisArg, ...args) {
    let run = () => {
      this.publish(data);
      return Reflect.apply(fn, thisArg, args);
    };
    for (const [store, transform] of this._stores) {
      const inner = run;
      run = () => {
        let value = data;
        if (transform) {
          try {
            value = transform(data);
          } catch (error) {
            report(error);
            return inner();
          }
        }
        return store.run(value, inner);
      };
    }
    return run();
  }
}

function channel(name) {
  const known = channels.get(name);
  if (known !== undefined) return known;
  if (typeof name !== "string" && typeof name !== "symbol") throw new ERR_INVALID_ARG_TYPE("channel", ["string", "symbol"], name);
  const made = new Channel(name);
  channels.set(name, made);
  return made;
}

const subscribe = (name, subscription) => channel(name).subscribe(subscription);
const unsubscribe = (name, subscription) => channel(name).unsubscribe(subscription);
const hasSubscribers = (name) => channels.get(name)?.hasSubscribers ?? false;

const EVENTS = ["start", "end", "asyncStart", "asyncEnd", "error"];

class TracingChannel {
  constructor(names) {
    for (const event of EVENTS) {
      const value = typeof names === "string" ? channel(`tracing:${names}:${event}`) : names?.[event];
      if (!(value instanceof Channel)) {
        throw new ERR_INVALID_ARG_TYPE(typeof names === "object" && names !== null ? `nameOrChannels.${event}` : "nameOrChannels",
          ["string", "Channel"], value);
      }
      Object.defineProperty(this, event, { value, enumerable: true });
    }
  }

  get hasSubscribers() {
    return EVENTS.some((event) => this[event].hasSubscribers);
  }

  subscribe(handlers) {
    for (const event of EVENTS) if (handlers[event]) this[event].subscribe(handlers[event]);
  }

  unsubscribe(handlers) {
    return EVENTS.map((event) => !handlers[event] || this[event].unsubscribe(handlers[event])).every(Boolean);
  }

  traceSync(fn, context = {}, thisArg = undefined, ...args) {
    if (!this.hasSubscribers) return Reflect.apply(fn, thisArg, args);
    return this.start.runStores(context, () => {
      try {
        return (context.result = Reflect.apply(fn, thisArg, args));
      } catch (error) {
        context.error = error;
        this.error.publish(context);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }

  #settled(context) {
    this.asyncStart.publish(context);
    this.asyncEnd.publish(context);
  }

  tracePromise(fn, context = {}, thisArg = undefined, ...args) {
    if (!this.hasSubscribers) return Reflect.apply(fn, thisArg, args);
    return this.start.runStores(context, () => {
      try {
        const promise = Reflect.apply(fn, thisArg, args);
        if (typeof promise?.then !== "function") {
          context.result = promise;
          return promise;
        }
        return promise.then((result) => {
          context.result = result;
          this.#settled(context);
          return result;
        }, (error) => {
          context.error = error;
          this.error.publish(context);
          this.#settled(context);
          throw error;
        });
      } catch (error) {
        context.error = error;
        this.error.publish(context);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }

  traceCallback(fn, position = -1, context = {}, thisArg = undefined, ...args) {
    if (!this.hasSubscribers) return Reflect.apply(fn, thisArg, args);
    const tracing = this;
    const callback = args.at(position);
    validateFunction(callback, "callback");
    args.splice(position, 1, function (error, result) {
      if (error) {
        context.error = error;
        tracing.error.publish(context);
      } else {
        context.result = result;
      }
      return tracing.asyncStart.runStores(context, () => {
        try {
          return Reflect.apply(callback, this, arguments);
        } finally {
          tracing.asyncEnd.publish(context);
        }
      });
    });
    return this.start.runStores(context, () => {
      try {
        return Reflect.apply(fn, thisArg, args);
      } catch (error) {
        context.error = error;
        this.error.publish(context);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }
}

module.exports = {
  channel, hasSubscribers, subscribe, unsubscribe, Channel, tracingChannel: (names) => new TracingChannel(names), TracingChannel,
};
