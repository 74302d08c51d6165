// @ts-check
"use strict";
// Event and EventTarget (https://dom.spec.whatwg.org/#events), for targets that have no tree above them: a path is the
// target alone. op_now gives time stamps. Exceptions of listeners go to reportException and never to the dispatcher.
//
// Deviations: there is no window.event; an on* attribute never gets the special arguments of a global `onerror`.

const {
  ArrayPrototypePush, FunctionPrototypeCall, ObjectDefineProperty, ObjectGetOwnPropertyDescriptor,
  SafeMap, StringPrototypeSlice, TypeError,
} = require("primordials");
const webidl = require("webidl");
const { converters } = webidl;
const { DOMException } = require("dom/exception");
const { reportException } = require("dom/report");
const { registerPlatformClass } = require("platform_classes");
const { op_now } = require("ops");

const NONE = 0, AT_TARGET = 2;

const eventInitMembers = [
  { key: "bubbles", converter: converters.boolean, defaultValue: false },
  { key: "cancelable", converter: converters.boolean, defaultValue: false },
  { key: "composed", converter: converters.boolean, defaultValue: false },
];
const convertEventInit = webidl.createDictionaryConverter("EventInit", eventInitMembers);

// Friends: what dispatch and the subclasses get of an event.
let isEvent, isBusy, initEvent, setTrusted, dispatch, cancelEvent, isTrustedDescriptor;

class Event {
  #type = "";
  #bubbles = false;
  #cancelable = false;
  #composed = false;
  #timeStamp;
  #target = null;
  #currentTarget = null;
  #phase = NONE;
  #stopPropagation = false;
  #stopImmediate = false;
  #canceled = false;
  #inPassiveListener = false;
  #dispatching = false;
  #trusted = false;

  constructor(type, eventInitDict = undefined) {
    const prefix = "Failed to construct 'Event'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    this.#type = converters.DOMString(type, prefix, "Argument 1");
    const init = convertEventInit(eventInitDict, prefix, "Argument 2");
    this.#bubbles = init.bubbles;
    this.#cancelable = init.cancelable;
    this.#composed = init.composed;
    this.#timeStamp = op_now();
    // [LegacyUnforgeable]: own, and the same getter for all.
    ObjectDefineProperty(this, "isTrusted", isTrustedDescriptor);
  }

  get type() { return this.#type; }
  get target() { return this.#target; }
  get srcElement() { return this.#target; }
  get currentTarget() { return this.#currentTarget; }
  composedPath() { return this.#currentTarget === null ? [] : [this.#currentTarget]; }

  get eventPhase() { return this.#phase; }
  stopPropagation() { this.#stopPropagation = true; }
  get cancelBubble() { return this.#stopPropagation; }
  set cancelBubble(value) {
    this.#stopPropagation = converters.boolean(value) || this.#stopPropagation;
  }
  stopImmediatePropagation() {
    this.#stopPropagation = true;
    this.#stopImmediate = true;
  }

  get bubbles() { return this.#bubbles; }
  get cancelable() { return this.#cancelable; }
  get returnValue() { return !this.#canceled; }
  set returnValue(value) { this.#cancel(!converters.boolean(value)); }
  preventDefault() { this.#cancel(true); }
  get defaultPrevented() { return this.#canceled; }
  get composed() { return this.#composed; }
  get timeStamp() { return this.#timeStamp; }

  initEvent(type, bubbles = false, cancelable = false) {
    const prefix = "Failed to execute 'initEvent' on 'Event'";
    if (!(#type in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 1, prefix);
    initEvent(this, converters.DOMString(type, prefix, "Argument 1"), converters.boolean(bubbles), converters.boolean(cancelable));
  }

  #cancel(wanted) {
    if (wanted && this.#cancelable && !this.#inPassiveListener) this.#canceled = true;
  }

  static {
    isEvent = (value) => webidl.isObject(value) && #type in value;
    isBusy = (event) => event.#dispatching;
    /** False, and nothing changed, when the event is being dispatched. */
    initEvent = (event, type, bubbles, cancelable) => {
      if (event.#dispatching) return false;
      event.#stopPropagation = event.#stopImmediate = event.#canceled = false;
      event.#trusted = false;
      event.#target = null;
      event.#type = type;
      event.#bubbles = bubbles;
      event.#cancelable = cancelable;
      return true;
    };
    cancelEvent = (event) => event.#cancel(true);
    setTrusted = (event, trusted) => { event.#trusted = trusted; };

    /** The dispatch algorithm. `listeners` are the target's. Returns false when the event was canceled. */
    dispatch = (event, target, listeners) => {
      event.#dispatching = true;
      event.#target = target;
      if (listeners !== undefined && listeners.length > 0) {
        event.#currentTarget = target;
        event.#phase = AT_TARGET;
        // A target gets the event twice: on the way down for capturing listeners, then on the way up for the others.
        if (!event.#stopPropagation) innerInvoke(event, target, listeners, true);
        if (!event.#stopPropagation) innerInvoke(event, target, listeners, false);
      }
      event.#phase = NONE;
      event.#currentTarget = null;
      event.#dispatching = false;
      event.#stopPropagation = event.#stopImmediate = false;
      return !event.#canceled;
    };

    function innerInvoke(event, target, listeners, capture) {
      // A copy, since a listener may add or remove others: those added are not called this time.
      const snapshot = [];
      for (let i = 0; i < listeners.length; i++) {
        const listener = listeners[i];
        if (listener.type === event.#type && listener.capture === capture) ArrayPrototypePush(snapshot, listener);
      }
      for (let i = 0; i < snapshot.length; i++) {
        const listener = snapshot[i];
        if (listener.removed) continue;
        if (listener.once) removeListener(target, listener);
        event.#inPassiveListener = listener.passive;
        try {
          callListener(listener.callback, event, target);
        } catch (error) {
          reportException(error);
        }
        event.#inPassiveListener = false;
        if (event.#stopImmediate) return;
      }
    }

    const holder = { get isTrusted() { return /** @type {any} */ (this).#trusted; } };
    const { get } = ObjectGetOwnPropertyDescriptor(holder, "isTrusted");
    isTrustedDescriptor = { __proto__: null, get, set: undefined, enumerable: true, configurable: false };
  }
}
webidl.configureInterface(Event);
webidl.defineConstants(Event, { NONE, CAPTURING_PHASE: 1, AT_TARGET, BUBBLING_PHASE: 3 });
registerPlatformClass(Event, ["type", "target", "defaultPrevented", "cancelable", "timeStamp"]);

/** A callback interface: a function, or an object that has a handleEvent when the time comes. */
function callListener(callback, event, target) {
  if (typeof callback === "function") {
    FunctionPrototypeCall(callback, target, event);
    return;
  }
  const handleEvent = callback.handleEvent;
  if (typeof handleEvent !== "function") throw new TypeError("The event listener has no method 'handleEvent'");
  FunctionPrototypeCall(handleEvent, callback, event);
}

// ---- EventTarget

/** What a listener's `signal` needs of AbortSignal, which is a file later than this one. */
let signals = { isSignal: (_) => false, isAborted: (_) => false, addAlgorithm: (_signal, _fn) => {} };
function setSignalFriends(friends) {
  signals = friends;
}

const listenerOptions = [{ key: "capture", converter: converters.boolean, defaultValue: false }];
const convertListenerOptions = webidl.createDictionaryConverter("EventListenerOptions", listenerOptions);
const convertAddListenerOptions = webidl.createDictionaryConverter("AddEventListenerOptions", listenerOptions, [
  { key: "once", converter: converters.boolean, defaultValue: false },
  { key: "passive", converter: converters.boolean, defaultValue: false },
  { key: "signal", converter: webidl.createInterfaceConverter("AbortSignal", (value) => signals.isSignal(value)) },
]);

/** The union (options or boolean). */
function flatten(options, convert, prefix) {
  if (options === undefined || options === null || webidl.isObject(options)) return convert(options, prefix, "Argument 3");
  return { __proto__: null, capture: !!options, once: false, passive: false, signal: undefined };
}

function convertListener(callback, prefix) {
  if (callback === undefined || callback === null) return null;
  if (!webidl.isObject(callback)) throw webidl.conversionError(prefix, "Argument 2", "is not an object");
  return callback;
}

let addListener, removeListener, fire, hasListener, listenersOf, setListenerObserver, handlersOf, isEventTarget;

class EventTarget {
  /** @type {any[] | undefined} in the order in which they were added */
  #listeners = undefined;
  /** @type {any} on* attributes: name to { callback, listener } */
  #handlers = undefined;
  /** @type {((type: string) => void) | undefined} told of every change of the listeners */
  #observer = undefined;

  constructor() {}

  addEventListener(type, callback, options = undefined) {
    const prefix = "Failed to execute 'addEventListener' on 'EventTarget'";
    if (!(#listeners in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 2, prefix);
    type = converters.DOMString(type, prefix, "Argument 1");
    callback = convertListener(callback, prefix);
    const { capture, once, passive, signal } = flatten(options, convertAddListenerOptions, prefix);
    if (signal !== undefined && signals.isAborted(signal)) return;
    if (callback === null) return;
    const listener = { __proto__: null, type, callback, capture, once, passive, removed: false };
    if (!addListener(this, listener)) return;
    if (signal !== undefined) signals.addAlgorithm(signal, () => removeListener(this, listener));
  }

  removeEventListener(type, callback, options = undefined) {
    const prefix = "Failed to execute 'removeEventListener' on 'EventTarget'";
    if (!(#listeners in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 2, prefix);
    type = converters.DOMString(type, prefix, "Argument 1");
    callback = convertListener(callback, prefix);
    const { capture } = flatten(options, convertListenerOptions, prefix);
    const listener = this.#find(type, callback, capture);
    if (listener !== undefined) removeListener(this, listener);
  }

  dispatchEvent(event) {
    const prefix = "Failed to execute 'dispatchEvent' on 'EventTarget'";
    if (!(#listeners in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 1, prefix);
    if (!isEvent(event)) throw webidl.conversionError(prefix, "Argument 1", "is not of type 'Event'");
    if (isBusy(event)) throw new DOMException(`${prefix}: The event is being dispatched already`, "InvalidStateError");
    setTrusted(event, false);
    return dispatch(event, this, this.#listeners);
  }

  #find(type, callback, capture) {
    const listeners = this.#listeners;
    if (listeners === undefined) return undefined;
    for (let i = 0; i < listeners.length; i++) {
      const listener = listeners[i];
      if (listener.callback === callback && listener.type === type && listener.capture === capture) return listener;
    }
    return undefined;
  }

  static {
    isEventTarget = (value) => webidl.isObject(value) && #listeners in value;

    addListener = (target, listener) => {
      if (target.#find(listener.type, listener.callback, listener.capture) !== undefined) return false;
      if (target.#listeners === undefined) target.#listeners = [];
      ArrayPrototypePush(target.#listeners, listener);
      if (target.#observer !== undefined) target.#observer(listener.type);
      return true;
    };

    removeListener = (target, listener) => {
      const listeners = target.#listeners;
      for (let i = 0; i < listeners.length; i++) {
        if (listeners[i] !== listener) continue;
        listener.removed = true;
        // Not splice: it would give the removed ones to whatever Array[Symbol.species] is now.
        for (; i < listeners.length - 1; i++) listeners[i] = listeners[i + 1];
        listeners.length--;
        if (target.#observer !== undefined) target.#observer(listener.type);
        return;
      }
    };

    hasListener = (target, type) => {
      const listeners = target.#listeners;
      if (listeners !== undefined) for (let i = 0; i < listeners.length; i++) if (listeners[i].type === type) return true;
      return false;
    };

    /** The callbacks of a type's listeners. */
    listenersOf = (target, type) => {
      const callbacks = [];
      const listeners = target.#listeners;
      if (listeners === undefined) return callbacks;
      for (let i = 0; i < listeners.length; i++) {
        if (listeners[i].type === type) ArrayPrototypePush(callbacks, listeners[i].callback);
      }
      return callbacks;
    };

    /** "Fire an event": a trusted one. */
    fire = (target, event) => {
      setTrusted(event, true);
      return dispatch(event, target, target.#listeners);
    };

    setListenerObserver = (target, observer) => { target.#observer = observer; };
    handlersOf = (target) => (target.#handlers === undefined ? (target.#handlers = new SafeMap()) : target.#handlers);
  }
}
webidl.configureInterface(EventTarget);

/** As they are now: an app may change the prototype. */
const { addEventListener, removeEventListener, dispatchEvent } = EventTarget.prototype;

/**
 * Defines an event handler attribute such as "onabort" on the prototype of a subclass of EventTarget
 * (https://html.spec.whatwg.org/multipage/webappapis.html#event-handler-attributes).
 */
function defineEventHandler(prototype, name, type = /** @type {any} */ (undefined)) {
  const eventType = type === undefined ? StringPrototypeSlice(name, 2) : type;

  const accessors = {
    get [name]() {
      const handler = handlersOf(this).get(name);
      return handler === undefined ? null : handler.callback;
    },
    set [name](value) {
      const handlers = handlersOf(this);
      const handler = handlers.get(name);
      // [LegacyTreatNonObjectAsNull]
      if (!webidl.isObject(value)) {
        if (handler === undefined) return;
        handlers.delete(name);
        removeListener(this, handler.listener);
      } else if (handler !== undefined) {
        handler.callback = value; // at its old place among the listeners
      } else {
        const added = { __proto__: null, callback: value, listener: undefined };
        const callback = function (event) {
          if (typeof added.callback !== "function") return;
          if (FunctionPrototypeCall(added.callback, this, event) === false) cancelEvent(event);
        };
        added.listener = { __proto__: null, type: eventType, callback, capture: false, once: false, passive: false, removed: false };
        handlers.set(name, added);
        addListener(this, added.listener);
      }
    },
  };
  const { get, set } = ObjectGetOwnPropertyDescriptor(accessors, name);
  ObjectDefineProperty(prototype, name, { __proto__: null, get, set, enumerable: true, configurable: true });
}

module.exports = {
  Event, EventTarget, eventInitMembers, initEvent, isEvent, isEventTarget, setTrusted, fire, hasListener, listenersOf, defineEventHandler,
  setListenerObserver, setSignalFriends, addEventListener, removeEventListener, dispatchEvent,
};
