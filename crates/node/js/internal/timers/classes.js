"use strict";
// The objects that node:timers returns: Timeout and Immediate (https://nodejs.org/api/timers.html#class-timeout).

const { cancel, start: startNative } = binding("timers");

const MAX_DELAY = 2 ** 31 - 1;

/** Timers that were asked for their number, by it: clearTimeout takes it, too. */
const byNumber = new Map();

function delayOf(given) {
  const delay = +given;
  if (delay >= 1 && delay <= MAX_DELAY) return Math.trunc(delay);
  if (delay > MAX_DELAY) {
    warn(`${delay} does not fit into a 32-bit signed integer.`, "TimeoutOverflowWarning");
  } else if (delay < 0) {
    warn(`${delay} is a negative number.`, "TimeoutNegativeWarning");
  } else if (Number.isNaN(delay) && given !== undefined) {
    warn(`${given} is not a number.`, "TimeoutNaNWarning");
  }
  return 1;
}

const warned = new Set();
function warn(text, type) {
  if (type !== "TimeoutOverflowWarning") {
    if (warned.has(type)) return;
    warned.add(type);
  }
  require("process").emitWarning(`${text}\nTimeout duration was set to 1.`, type);
}

class Timeout {
  // The names that Node's have, which packages look at.
  _idleTimeout;
  _onTimeout;
  _repeat;
  _destroyed = false;
  #args;
  #native;
  #isRef = true;
  #number;

  constructor(callback, delay, args, isRepeated) {
    this._idleTimeout = delayOf(delay);
    this._onTimeout = callback;
    this._repeat = isRepeated ? this._idleTimeout : null;
    this.#args = args;
  }

  #start() {
    const isRepeated = this._repeat !== null;
    this.#native = startNative(() => {
      if (this._repeat === null) this.#native = undefined;
      const callback = this._onTimeout;
      if (typeof callback !== "function") return;
      try {
        Reflect.apply(callback, this, this.#args);
      } finally {
        this.#afterCall(isRepeated);
      }
    }, this._idleTimeout, isRepeated);
    this._destroyed = false;
  }

  /** Packages change the fields in the callback: an interval may end, and a timeout become one. */
  #afterCall(wasRepeated) {
    if (this._onTimeout === null || this._idleTimeout < 0) {
      this.close();
    } else if (this.#native === undefined) {
      // Neither an interval nor started again by the callback.
      if (this._repeat === null || wasRepeated) this.#end();
      else this.#restart();
    }
  }

  #restart() {
    this._idleTimeout = delayOf(this._repeat);
    this.#start();
  }

  #stop() {
    if (this.#native === undefined) return;
    cancel(this.#native);
    this.#native = undefined;
  }

  #end() {
    this._destroyed = true;
    if (this.#number !== undefined) byNumber.delete(this.#number);
  }

  ref() {
    this.#isRef = true;
    return this;
  }

  unref() {
    // Of a borrowed method's `this`, too: nothing happens then.
    if (#isRef in this) this.#isRef = false;
    return this;
  }

  hasRef() {
    return this.#isRef;
  }

  refresh() {
    if (this._destroyed && this.#native === undefined && this._idleTimeout < 0) return this;
    this.#stop();
    this.#start();
    return this;
  }

  close() {
    this.#stop();
    this.#end();
    this._idleTimeout = -1;
    this._onTimeout = null;
    return this;
  }

  [Symbol.toPrimitive]() {
    this.#number ??= this.#native ?? 0;
    if (!this._destroyed) byNumber.set(this.#number, this);
    return this.#number;
  }

  [Symbol.dispose]() {
    this.close();
  }

  static start(timer) {
    timer.#start();
    return timer;
  }

  static closeById(number) {
    const timer = byNumber.get(+number);
    if (timer !== undefined) timer.close();
    else cancel(number);
  }
}

const { start } = Timeout;

class Immediate {
  _onImmediate;
  _destroyed = false;
  #native;
  #isRef = true;

  constructor(callback, args) {
    this._onImmediate = callback;
    this.#native = startNative(() => {
      this._destroyed = true;
      Reflect.apply(this._onImmediate, this, args);
    }, 0, false);
  }

  ref() {
    this.#isRef = true;
    return this;
  }

  unref() {
    this.#isRef = false;
    return this;
  }

  hasRef() {
    return this.#isRef;
  }

  [Symbol.dispose]() {
    if (this._destroyed) return;
    this._destroyed = true;
    this._onImmediate = null;
    cancel(this.#native);
  }
}

delete Timeout.start;

module.exports = { Immediate, Timeout, start };
