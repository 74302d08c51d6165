// @ts-check
"use strict";
// What the controllers of readable streams have in common, default and byte: the source, when it is pulled, how it is
// cancelled. https://streams.spec.whatwg.org/#readable-stream-default-controller-call-pull-if-needed and its neighbours.
//
// Beyond the spec: `eager`, set by consumers that run no code of an app between chunks (native.js): a pull that returns no
// promise is then over at once, not a microtask later.

const { FunctionPrototypeCall, PromisePrototypeThen, PromiseReject } = require("primordials");
const { FULFILLED, isObject, newPromiseOf, promiseOf } = require("streams/promises");
const { READABLE, CLOSED, abortCancelSignal } = require("streams/readable_core");

/**
 * Where chunks come from: the pull and cancel algorithms. Both may throw and may return anything; what they return is
 * waited for.
 */
class Source {
  pull(_controller) {}
  cancel(_reason) {}
}

/** The underlying source of an app: its callbacks, and the controller that they are given. */
class AppSource extends Source {
  object;
  pullCallback;
  cancelCallback;
  /** @type {any} */
  face = undefined;

  constructor(object, dictionary) {
    super();
    this.object = object;
    this.pullCallback = dictionary.pull;
    this.cancelCallback = dictionary.cancel;
  }

  pull() {
    if (this.pullCallback === undefined) return undefined;
    return FunctionPrototypeCall(this.pullCallback, this.object, this.face);
  }

  cancel(reason) {
    if (this.cancelCallback === undefined) return undefined;
    return newPromiseOf(FunctionPrototypeCall(this.cancelCallback, this.object, reason));
  }
}

/** What default controllers and byte controllers have in common: when the source is pulled, and how it is cancelled. */
class Controller {
  stream;
  /** @type {any} undefined when the algorithms are cleared */
  source;
  highWaterMark;
  started = false;
  closeRequested = false;
  pulling = false;
  pullAgain = false;
  eager = false;
  cancelled = false;
  /** @type {any} */
  cancelReason = undefined;
  /** @type {any} */
  signal = undefined;
  /** @type {any} */
  onFulfilled = undefined;
  /** @type {any} */
  onRejected = undefined;

  constructor(stream, source, highWaterMark) {
    this.stream = stream;
    this.source = source;
    this.highWaterMark = highWaterMark;
    stream.controller = this;
  }

  shouldPull() { return false; }
  error(_error) {}

  /** The end of SetUp...Controller: `startResult` is what the start algorithm returned. */
  waitForStart(startResult) {
    this.react(newPromiseOf(startResult));
  }


  /** For internal sources, whose start does nothing. Saves a microtask where that cannot be observed. */
  startNow() {
    this.started = true;
  }

  /** Waits for the promise of start or of pull. */
  react(promise) {
    if (this.onFulfilled === undefined) {
      this.onFulfilled = () => {
        if (!this.started) {
          this.started = true;
          this.callPullIfNeeded();
        } else {
          this.pulling = false;
          if (this.pullAgain) {
            this.pullAgain = false;
            this.callPullIfNeeded();
          }
        }
      };
      this.onRejected = (error) => this.error(error);
    }
    PromisePrototypeThen(promise, this.onFulfilled, this.onRejected);
  }

  callPullIfNeeded() {
    if (!this.shouldPull()) return;
    if (this.pulling) {
      this.pullAgain = true;
      return;
    }
    do {
      this.pullAgain = false;
      this.pulling = true;
      let result;
      try {
        result = this.source.pull(this);
      } catch (error) {
        this.react(PromiseReject(error));
        return;
      }
      if (isObject(result)) {
        this.react(promiseOf(result));
        return;
      }
      if (!this.eager) {
        this.react(FULFILLED);
        return;
      }
      this.pulling = false;
    } while (this.pullAgain && this.shouldPull());
    this.pullAgain = false;
  }

  desiredSize(queued) {
    const status = this.stream.status;
    return status === READABLE ? this.highWaterMark - queued : status === CLOSED ? 0 : null;
  }

  /** The source's part of [[CancelSteps]]. */
  cancelSource(reason) {
    abortCancelSignal(this, reason);
    const source = this.source;
    let result;
    try {
      result = promiseOf(source.cancel(reason));
    } catch (error) {
      result = PromiseReject(error);
    }
    this.clearAlgorithms();
    return result;
  }

  clearAlgorithms() {
    this.source = undefined;
  }
}

module.exports = { Source, AppSource, Controller };
