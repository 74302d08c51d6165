"use strict";
// node:events (https://nodejs.org/api/events.html): EventEmitter. What hangs on the class beside it (`once`, `on`,
// `getEventListeners`...) is in internal/events/.
//
// `_events` (an object without prototype; a type's value is one function or an array of them), `_eventsCount` and
// `_maxListeners` are as Node has them, since packages read them.
//
// Deviation: `usingDomains` is a plain property that nothing reads.

const { ERR_INVALID_ARG_TYPE, ERR_UNHANDLED_ERROR } = require("internal/errors");
const { validateBoolean, validateFunction, validateNumber } = require("internal/validators");

const kCapture = Symbol("kCapture");
const kRejection = Symbol.for("nodejs.rejection");
const errorMonitor = Symbol("events.errorMonitor");

let defaultMaxListeners = 10;

// Packages call it without `new`, on objects of their own: it cannot be a class.
function EventEmitter(options) {
  EventEmitter.init.call(this, options);
}

EventEmitter.prototype._events = undefined;
EventEmitter.prototype._eventsCount = 0;
EventEmitter.prototype._maxListeners = undefined;
hide(EventEmitter.prototype, kCapture, false);

function hide(target, key, value) {
  Object.defineProperty(target, key, { value, writable: true, enumerable: false, configurable: true });
}

EventEmitter.init = function (options) {
  if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) {
    this._events = { __proto__: null };
    this._eventsCount = 0;
  }
  this._maxListeners = this._maxListeners || undefined;
  if (options?.captureRejections) {
    validateBoolean(options.captureRejections, "options.captureRejections");
    this[kCapture] = true;
  } else {
    // Not by assignment: emitters of a prototype would find it enumerable.
    hide(this, kCapture, EventEmitter.prototype[kCapture]);
  }
};

// ---- Emitting

EventEmitter.prototype.emit = function emit(type, ...args) {
  const events = this._events;
  if (type === "error") {
    if (events !== undefined && events[errorMonitor] !== undefined) this.emit(errorMonitor, ...args);
    if (events === undefined || events.error === undefined) throwUnhandled(args[0]);
  } else if (events === undefined) {
    return false;
  }
  const handler = events[type];
  if (handler === undefined) return false;
  if (typeof handler === "function") {
    const result = Reflect.apply(handler, this, args);
    // Most listeners return nothing.
    if (result !== undefined && result !== null) watch(this, result, type, args);
    return true;
  }
  // A copy: listeners that are added or removed meanwhile change the next event.
  const listeners = handler.slice();
  for (let i = 0; i < listeners.length; i++) {
    const result = Reflect.apply(listeners[i], this, args);
    if (result !== undefined && result !== null) watch(this, result, type, args);
  }
  return true;
};

function throwUnhandled(error) {
  if (error instanceof Error) throw error;
  let shown;
  try {
    shown = require("util").inspect(error);
  } catch {
    shown = error;
  }
  const unhandled = new ERR_UNHANDLED_ERROR(shown);
  unhandled.context = error;
  throw unhandled;
}

/** With captureRejections, the rejection of a listener's promise becomes an `error` event. */
function watch(emitter, result, type, args) {
  if (!emitter[kCapture]) return;
  try {
    const { then } = result;
    if (typeof then !== "function") return;
    then.call(result, undefined, (error) => {
      // On the tick queue: what `error` listeners throw must not be a rejection again.
      require("process").nextTick(emitRejection, emitter, error, type, args);
    });
  } catch (error) {
    emitter.emit("error", error);
  }
}

function emitRejection(emitter, error, type, args) {
  if (typeof emitter[kRejection] === "function") {
    emitter[kRejection](error, type, ...args);
    return;
  }
  const before = emitter[kCapture];
  // An `error` listener whose promise is rejected would be called for ever.
  try {
    emitter[kCapture] = false;
    emitter.emit("error", error);
  } finally {
    emitter[kCapture] = before;
  }
}

// ---- Listeners

function addListener(emitter, type, listener, isFirst) {
  validateFunction(listener, "listener");
  let events = emitter._events;
  if (events === undefined) {
    events = emitter._events = { __proto__: null };
    emitter._eventsCount = 0;
  } else if (events.newListener !== undefined) {
    emitter.emit("newListener", type, listener.listener ?? listener);
    events = emitter._events; // the listener may have replaced it
  }
  const existing = events[type];
  if (existing === undefined) {
    events[type] = listener;
    ++emitter._eventsCount;
    return emitter;
  }
  let list = existing;
  if (typeof existing === "function") {
    list = events[type] = isFirst ? [listener, existing] : [existing, listener];
  } else if (isFirst) {
    list.unshift(listener);
  } else {
    list.push(listener);
  }
  const limit = maxListenersOf(emitter);
  if (limit > 0 && list.length > limit && !list.warned) {
    list.warned = true;
    warnOfLeak(emitter, type, list.length, limit);
  }
  return emitter;
}

function warnOfLeak(emitter, type, count, limit) {
  const warning = new Error(
    `Possible EventEmitter memory leak detected. ${count} ${String(type)} listeners added to ` +
    `${require("util").inspect(emitter, { depth: -1 })}. MaxListeners is ${limit}. Use emitter.setMaxListeners() to increase limit`,
  );
  warning.name = "MaxListenersExceededWarning";
  warning.emitter = emitter;
  warning.type = type;
  warning.count = count;
  require("process").emitWarning(warning);
}

EventEmitter.prototype.addListener = function addListener_(type, listener) {
  return addListener(this, type, listener, false);
};
EventEmitter.prototype.on = EventEmitter.prototype.addListener;

EventEmitter.prototype.prependListener = function prependListener(type, listener) {
  return addListener(this, type, listener, true);
};

function wrapOnce(emitter, type, listener) {
  let fired = false;
  const wrapped = (...args) => {
    if (fired) return undefined;
    emitter.removeListener(type, wrapped);
    fired = true;
    return Reflect.apply(listener, emitter, args);
  };
  wrapped.listener = listener;
  return wrapped;
}

EventEmitter.prototype.once = function once(type, listener) {
  validateFunction(listener, "listener");
  this.on(type, wrapOnce(this, type, listener));
  return this;
};

EventEmitter.prototype.prependOnceListener = function prependOnceListener(type, listener) {
  validateFunction(listener, "listener");
  this.prependListener(type, wrapOnce(this, type, listener));
  return this;
};

EventEmitter.prototype.removeListener = function removeListener(type, listener) {
  validateFunction(listener, "listener");
  const events = this._events;
  const list = events?.[type];
  if (list === undefined) return this;
  if (list === listener || list.listener === listener) {
    removeType(this, type);
    if (events.removeListener !== undefined) this.emit("removeListener", type, list.listener ?? listener);
  } else if (typeof list !== "function") {
    const at = list.findLastIndex((one) => one === listener || one.listener === listener);
    if (at < 0) return this;
    list.splice(at, 1);
    if (list.length === 1) events[type] = list[0];
    if (events.removeListener !== undefined) this.emit("removeListener", type, listener.listener ?? listener);
  }
  return this;
};
EventEmitter.prototype.off = EventEmitter.prototype.removeListener;

function removeType(emitter, type) {
  if (--emitter._eventsCount === 0) emitter._events = { __proto__: null };
  else delete emitter._events[type];
}

EventEmitter.prototype.removeAllListeners = function removeAllListeners(...types) {
  const events = this._events;
  if (events === undefined) return this;
  const [type] = types;
  if (events.removeListener === undefined) {
    if (types.length === 0) {
      this._events = { __proto__: null };
      this._eventsCount = 0;
    } else if (events[type] !== undefined) {
      removeType(this, type);
    }
    return this;
  }
  if (types.length === 0) {
    for (const key of Reflect.ownKeys(events)) if (key !== "removeListener") this.removeAllListeners(key);
    this.removeAllListeners("removeListener");
    this._events = { __proto__: null };
    this._eventsCount = 0;
    return this;
  }
  const list = events[type];
  if (typeof list === "function") this.removeListener(type, list);
  else if (list !== undefined) for (let i = list.length - 1; i >= 0; i--) this.removeListener(type, list[i]);
  return this;
};

// ---- Questions

function listenersOf(emitter, type, isUnwrapped) {
  const list = emitter._events?.[type];
  if (list === undefined) return [];
  const all = typeof list === "function" ? [list] : list.slice();
  return isUnwrapped ? all.map((one) => one.listener ?? one) : all;
}

EventEmitter.prototype.listeners = function listeners(type) {
  return listenersOf(this, type, true);
};

EventEmitter.prototype.rawListeners = function rawListeners(type) {
  return listenersOf(this, type, false);
};

EventEmitter.prototype.listenerCount = function listenerCount(type, listener) {
  const list = this._events?.[type];
  if (list === undefined) return 0;
  const all = typeof list === "function" ? [list] : list;
  if (listener === undefined || listener === null) return all.length;
  return all.filter((one) => one === listener || one.listener === listener).length;
};

EventEmitter.prototype.eventNames = function eventNames() {
  return this._eventsCount > 0 ? Reflect.ownKeys(this._events) : [];
};

EventEmitter.prototype.setMaxListeners = function setMaxListeners(n) {
  validateNumber(n, "setMaxListeners", 0);
  this._maxListeners = n;
  return this;
};

EventEmitter.prototype.getMaxListeners = function getMaxListeners() {
  return maxListenersOf(this);
};

function maxListenersOf(emitter) {
  return emitter._maxListeners === undefined ? defaultMaxListeners : emitter._maxListeners;
}

// ---- Statics

Object.defineProperties(EventEmitter, {
  captureRejections: {
    get() { return EventEmitter.prototype[kCapture]; },
    set(value) {
      validateBoolean(value, "EventEmitter.captureRejections");
      EventEmitter.prototype[kCapture] = value;
    },
    enumerable: true,
    configurable: true,
  },
  defaultMaxListeners: {
    get() { return defaultMaxListeners; },
    set(value) {
      validateNumber(value, "defaultMaxListeners", 0);
      defaultMaxListeners = value;
    },
    enumerable: true,
    configurable: true,
  },
  // Loaded when asked for: it needs async_hooks.
  EventEmitterAsyncResource: {
    get() { return require("internal/events/async_resource"); },
    enumerable: true,
    configurable: true,
  },
});

EventEmitter.captureRejectionSymbol = kRejection;
EventEmitter.errorMonitor = errorMonitor;
EventEmitter.usingDomains = false;
EventEmitter.EventEmitter = EventEmitter;
EventEmitter.setMaxListeners = function setMaxListeners(n = defaultMaxListeners, ...targets) {
  validateNumber(n, "setMaxListeners", 0);
  if (targets.length === 0) {
    defaultMaxListeners = n;
    return;
  }
  for (const target of targets) {
    if (!require("internal/events/targets").setMax(target, n)) {
      if (typeof target?.setMaxListeners !== "function") {
        throw new ERR_INVALID_ARG_TYPE("eventTargets", ["EventEmitter", "EventTarget"], target);
      }
      target.setMaxListeners(n);
    }
  }
};

module.exports = EventEmitter;

const { addAbortListener, getEventListeners, getMaxListeners, listenerCount } = require("internal/events/targets");

Object.assign(EventEmitter, {
  addAbortListener, getEventListeners, getMaxListeners, listenerCount,
  once: require("internal/events/once"),
  on(...args) { return require("internal/events/on")(...args); },
});
