"use strict";
// The parts of node:diagnostics_channel that are made of channels: BoundedChannel (start and end around a call) and
// TracingChannel, which has two such windows, for the call and for what comes of it later, and a channel for errors.

const { ERR_INVALID_ARG_TYPE } = require("internal/errors");
const { validateFunction } = require("internal/validators");
const { Channel, channel } = require("diagnostics_channel");

function member(given, event, className) {
  if (typeof given === "string") return channel(`tracing:${given}:${event}`);
  if (typeof given !== "object" || given === null) {
    throw new ERR_INVALID_ARG_TYPE("nameOrChannels", ["string", "object", className], given);
  }
  const found = given[event];
  if (!(found instanceof Channel)) throw new ERR_INVALID_ARG_TYPE(`nameOrChannels.${event}`, ["Channel"], found);
  return found;
}

function define(target, name, value) {
  Object.defineProperty(target, name, { value, writable: false, enumerable: false, configurable: false });
}

/** Calls `subscribe` or `unsubscribe` for each handler; false where one was not there. */
function forEach(channels, method, handlers) {
  let done = true;
  for (const [event, each] of channels) {
    if (handlers[event] && each[method](handlers[event]) === false) done = false;
  }
  return done;
}

class Scope {
  #end;
  #context;
  #stores;

  constructor(start, end, context) {
    this.#end = end;
    this.#context = context;
    this.#stores = start.withStoreScope(context);
  }

  [Symbol.dispose]() {
    if (this.#stores === undefined) return;
    this.#end.publish(this.#context);
    this.#stores[Symbol.dispose]();
    this.#stores = undefined;
  }
}

const NO_SCOPE = { [Symbol.dispose]() {} };

class BoundedChannel {
  constructor(nameOrChannels) {
    for (const event of ["start", "end"]) define(this, event, member(nameOrChannels, event, "BoundedChannel"));
  }

  #channels() {
    return [["start", this.start], ["end", this.end]];
  }

  get hasSubscribers() {
    return this.start.hasSubscribers || this.end.hasSubscribers;
  }

  subscribe(handlers) {
    forEach(this.#channels(), "subscribe", handlers);
  }

  unsubscribe(handlers) {
    return forEach(this.#channels(), "unsubscribe", handlers);
  }

  withScope(context = {}) {
    return this.hasSubscribers ? new Scope(this.start, this.end, context) : NO_SCOPE;
  }

  run(context, fn, thisArg, ...args) {
    const scope = this.withScope(context ?? {});
    try {
      return Reflect.apply(fn, thisArg, args);
    } finally {
      scope[Symbol.dispose]();
    }
  }
}

class TracingChannel {
  #call;
  #continuation;

  constructor(given) {
    const at = (event) => member(given, event, "TracingChannel");
    this.#call = new BoundedChannel({ start: at("start"), end: at("end") });
    this.#continuation = new BoundedChannel({ start: at("asyncStart"), end: at("asyncEnd") });
    define(this, "error", at("error"));
  }

  get start() { return this.#call.start; }
  get end() { return this.#call.end; }
  get asyncStart() { return this.#continuation.start; }
  get asyncEnd() { return this.#continuation.end; }

  #channels() {
    return ["start", "end", "asyncStart", "asyncEnd", "error"].map((event) => [event, this[event]]);
  }

  get hasSubscribers() {
    return this.#call.hasSubscribers || this.#continuation.hasSubscribers || this.error.hasSubscribers;
  }

  subscribe(handlers) {
    forEach(this.#channels(), "subscribe", handlers);
  }

  unsubscribe(handlers) {
    return forEach(this.#channels(), "unsubscribe", handlers);
  }

  #fail(context, error) {
    context.error = error;
    this.error.publish(context);
  }

  /** Calls in the window of the call; what is thrown is published. */
  #traced(context, call) {
    return this.#call.run(context, () => {
      try {
        return call();
      } catch (error) {
        this.#fail(context, error);
        throw error;
      }
    });
  }

  traceSync(fn, context = {}, thisArg = undefined, ...args) {
    if (!this.hasSubscribers) return Reflect.apply(fn, thisArg, args);
    return this.#traced(context, () => (context.result = Reflect.apply(fn, thisArg, args)));
  }

  tracePromise(fn, context = {}, thisArg = undefined, ...args) {
    if (!this.hasSubscribers) {
      const result = Reflect.apply(fn, thisArg, args);
      if (typeof result?.then !== "function") warnOfValue(fn);
      return result;
    }
    const onResult = (result) => {
      context.result = result;
      return this.#continuation.run(context, () => result);
    };
    const onError = (error) => {
      this.#fail(context, error);
      this.#continuation.run(context, () => {});
    };
    return this.#traced(context, () => {
      const result = Reflect.apply(fn, thisArg, args);
      if (typeof result?.then !== "function") {
        warnOfValue(fn);
        return (context.result = result);
      }
      if (require("util/types").isPromise(result) && Object.getPrototypeOf(result) === Promise.prototype) {
        return Promise.prototype.then.call(result, onResult, (error) => {
          onError(error);
          throw error;
        });
      }
      // The caller gets its own kind of promise back.
      result.then(onResult, onError);
      return result;
    });
  }

  traceCallback(fn, position = -1, context = {}, thisArg = undefined, ...args) {
    if (!this.hasSubscribers) return Reflect.apply(fn, thisArg, args);
    const tracing = this;
    const callback = args.at(position);
    validateFunction(callback, "callback");
    args.splice(position, 1, function (error, result) {
      if (error) tracing.#fail(context, error);
      else context.result = result;
      return tracing.#continuation.run(context, () => Reflect.apply(callback, this, arguments));
    });
    return this.#traced(context, () => Reflect.apply(fn, thisArg, args));
  }
}

function warnOfValue(fn) {
  require("process").emitWarning(`tracePromise was called with the function '${fn.name || "<anonymous>"}', ` +
    "which returned a non-thenable.");
}

module.exports = { BoundedChannel, TracingChannel };
