// @ts-check
"use strict";
// AbortController and AbortSignal (https://dom.spec.whatwg.org/#aborting-ongoing-activities).
// AbortSignal.timeout uses the timers of timers.js and so belongs to the request that made it.
//
// Signals made by AbortSignal.any are referenced weakly by their sources, and strongly only while
// they have listeners: a signal that lives as long as the app does not accumulate those of ended
// requests.

const { ArrayPrototypePush, SafeSet, SafeWeakRef } = require("primordials");
const webidl = require("webidl");
const { converters } = webidl;
const { DOMException } = require("dom/exception");
const {
  Event, EventTarget, defineEventHandler, fire, hasListener, setListenerObserver, setSignalFriends,
} = require("dom/event");
const { registerPlatformClass } = require("platform_classes");
const { startTimer } = require("timers");

const TOKEN = { __proto__: null };

let isSignal, createSignal, signalAbort, isAborted, abortReason, addAbortAlgorithm, removeAbortAlgorithm;
let createDependentSignal;

function abortError() {
  return new DOMException("This operation was aborted", "AbortError");
}

class AbortSignal extends EventTarget {
  #aborted = false;
  #reason = undefined;
  /** @type {any} a SafeSet of functions, called in order, or undefined */
  #algorithms = undefined;
  /** Whether AbortSignal.any made it. */
  #dependent = false;
  /** @type {any[]} of a dependent signal: weak references to what it depends on; never dependent ones themselves */
  #sources = [];
  /** @type {any[]} weak references to all signals that depend on this one */
  #dependents = [];
  /** @type {any} SafeSet: those of them that must not be collected, because they have listeners */
  #observed = undefined;
  #pruneAt = 16;

  // @ts-ignore: a hidden argument
  constructor(token = undefined) {
    if (token !== TOKEN) webidl.illegalConstructor();
    super();
  }

  static abort(reason = undefined) {
    const signal = createSignal();
    signal.#aborted = true;
    signal.#reason = reason === undefined ? abortError() : reason;
    return signal;
  }

  static timeout(milliseconds) {
    const prefix = "Failed to execute 'timeout' on 'AbortSignal'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    const delay = converters["unsigned long long"](milliseconds, prefix, "Argument 1", { enforceRange: true });
    const signal = createSignal();
    startTimer(() => signalAbort(signal, new DOMException("The operation timed out", "TimeoutError")), delay);
    return signal;
  }

  static any(signals) {
    const prefix = "Failed to execute 'any' on 'AbortSignal'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    return createDependentSignal(convertSignals(signals, prefix, "Argument 1"));
  }

  get aborted() { return this.#aborted; }
  get reason() { return this.#reason; }
  throwIfAborted() { if (this.#aborted) throw this.#reason; }

  #isObserved() {
    return (this.#algorithms !== undefined && this.#algorithms.size > 0) || hasListener(this, "abort");
  }

  /** Tells the sources of a dependent signal whether to hold on to it. */
  #observe() {
    const observed = this.#isObserved();
    for (let i = 0; i < this.#sources.length; i++) {
      const source = this.#sources[i].deref();
      if (source === undefined) continue;
      if (observed) {
        if (source.#observed === undefined) source.#observed = new SafeSet();
        source.#observed.add(this);
      } else if (source.#observed !== undefined) {
        source.#observed.delete(this);
      }
    }
  }

  #addDependent(signal) {
    ArrayPrototypePush(this.#dependents, new SafeWeakRef(signal));
    if (this.#dependents.length < this.#pruneAt) return;
    const alive = [];
    for (let i = 0; i < this.#dependents.length; i++) {
      if (this.#dependents[i].deref() !== undefined) ArrayPrototypePush(alive, this.#dependents[i]);
    }
    this.#dependents = alive;
    this.#pruneAt = alive.length * 2 + 16;
  }

  #runAbortSteps() {
    const algorithms = this.#algorithms;
    this.#algorithms = undefined;
    if (algorithms !== undefined) algorithms.forEach((algorithm) => algorithm());
    if (hasListener(this, "abort")) fire(this, new Event("abort"));
  }

  static {
    isSignal = (value) => webidl.isObject(value) && #aborted in value;
    createSignal = () => new AbortSignal(/** @type {any} */ (TOKEN));
    isAborted = (signal) => signal.#aborted;
    abortReason = (signal) => signal.#reason;

    /** "Signal abort". */
    signalAbort = (signal, reason = undefined) => {
      if (signal.#aborted) return;
      signal.#aborted = true;
      signal.#reason = reason === undefined ? abortError() : reason;
      // All are aborted before any listener is called.
      const toAbort = [];
      for (let i = 0; i < signal.#dependents.length; i++) {
        const dependent = signal.#dependents[i].deref();
        if (dependent === undefined || dependent.#aborted) continue;
        dependent.#aborted = true;
        dependent.#reason = signal.#reason;
        ArrayPrototypePush(toAbort, dependent);
      }
      signal.#dependents = [];
      signal.#observed = undefined;
      signal.#runAbortSteps();
      for (let i = 0; i < toAbort.length; i++) toAbort[i].#runAbortSteps();
    };

    /** Does nothing for a signal that is aborted already: ask isAborted first. `algorithm` must not throw. */
    addAbortAlgorithm = (signal, algorithm) => {
      if (signal.#aborted) return;
      if (signal.#algorithms === undefined) signal.#algorithms = new SafeSet();
      signal.#algorithms.add(algorithm);
      if (signal.#dependent) signal.#observe();
    };

    removeAbortAlgorithm = (signal, algorithm) => {
      if (signal.#algorithms === undefined) return;
      signal.#algorithms.delete(algorithm);
      if (signal.#dependent) signal.#observe();
    };

    /** "Create a dependent abort signal" from an array of signals. */
    createDependentSignal = (signals) => {
      const result = createSignal();
      for (let i = 0; i < signals.length; i++) {
        if (!signals[i].#aborted) continue;
        result.#aborted = true;
        result.#reason = signals[i].#reason;
        return result;
      }
      result.#dependent = true;
      const seen = new SafeSet();
      const link = (source) => {
        if (source === undefined || seen.has(source)) return;
        seen.add(source);
        ArrayPrototypePush(result.#sources, new SafeWeakRef(source));
        source.#addDependent(result);
      };
      for (let i = 0; i < signals.length; i++) {
        if (!signals[i].#dependent) {
          link(signals[i]);
        } else {
          const sources = signals[i].#sources;
          for (let j = 0; j < sources.length; j++) link(sources[j].deref());
        }
      }
      setListenerObserver(result, () => result.#observe());
      return result;
    };
  }
}
webidl.configureInterface(AbortSignal);
defineEventHandler(AbortSignal.prototype, "onabort");
registerPlatformClass(AbortSignal, ["aborted", "reason"]);

const convertSignals = webidl.createSequenceConverter(webidl.createInterfaceConverter("AbortSignal", isSignal));

class AbortController {
  #signal = createSignal();

  constructor() {}
  get signal() { return this.#signal; }
  abort(reason = undefined) { signalAbort(this.#signal, reason); }
}
webidl.configureInterface(AbortController);
registerPlatformClass(AbortController, ["signal"]);

setSignalFriends({ __proto__: null, isSignal, isAborted, addAlgorithm: addAbortAlgorithm });

module.exports = {
  AbortController, AbortSignal, isSignal, createSignal, createDependentSignal, signalAbort, isAborted, abortReason,
  addAbortAlgorithm, removeAbortAlgorithm,
};
