"use strict";
// node:domain (https://nodejs.org/api/domain.html): errors of timers, ticks and emitters go to the domain in which they began.
//
// The active domain and the stack of those entered are a value of an AsyncLocalStorage, so they follow what a domain starts,
// and never reach another request.
//
// Deviations: domains go together with process.setUncaughtExceptionCaptureCallback, and come first (as in Node 26). A
// promise's callbacks run in the domain in which `then` was called; a rejection belongs to no domain.

const EventEmitter = require("events");
const process = require("process");
const { AsyncLocalStorage } = require("async_hooks");
const { setDomains } = require("internal/process/uncaught");

/** Its values, frozen: { domain, stack }. */
const storage = new AsyncLocalStorage({ name: "domain" });
const OUTSIDE = Object.freeze({ domain: undefined, stack: [] });

const current = () => storage.getStore() ?? OUTSIDE;

function setCurrent(domain, stack) {
  storage.enterWith({ domain: domain ?? undefined, stack });
}

/** The stack is what it is without its top. */
const setStack = (stack) => setCurrent(stack.at(-1), stack);

function hide(object, key, value) {
  Object.defineProperty(object, key, { value, writable: true, enumerable: false, configurable: true });
}

class Domain extends EventEmitter {
  members = [];

  enter() {
    setStack([...current().stack, this]);
  }

  /** Leaves also those that were entered since. */
  exit() {
    const { stack } = current();
    const at = stack.lastIndexOf(this);
    if (at >= 0) setStack(stack.slice(0, at));
  }

  add(emitter) {
    if (emitter.domain === this) return;
    if (emitter.domain) emitter.domain.remove(emitter);
    // Errors would go round for ever.
    if (this.domain && emitter instanceof Domain) {
      for (let outer = this.domain; outer; outer = outer.domain) if (outer === emitter) return;
    }
    hide(emitter, "domain", this);
    this.members.push(emitter);
  }

  remove(emitter) {
    emitter.domain = null;
    const at = this.members.indexOf(emitter);
    if (at >= 0) this.members.splice(at, 1);
  }

  /** The domain stays entered when `fn` throws: the error is still to be caught. */
  run(fn, ...args) {
    this.enter();
    const result = Reflect.apply(fn, this, args);
    this.exit();
    return result;
  }

  bind(callback) {
    const domain = this;
    function runBound(...args) {
      domain.enter();
      const result = Reflect.apply(callback, this, args);
      domain.exit();
      return result;
    }
    return bound(runBound, domain);
  }

  intercept(callback) {
    const domain = this;
    function runIntercepted(error, ...args) {
      if (error instanceof Error) {
        describe(error, domain, { domainBound: callback, domainThrown: false });
        domain.emit("error", error);
        return undefined;
      }
      domain.enter();
      const result = Reflect.apply(callback, this, args);
      domain.exit();
      return result;
    }
    return bound(runIntercepted, domain);
  }
}

function bound(fn, value) {
  Object.defineProperty(fn, "domain", { value, writable: true, enumerable: true, configurable: true });
  return fn;
}

function describe(error, domain, more) {
  if ((typeof error !== "object" && typeof error !== "function") || error === null) return;
  hide(error, "domain", domain);
  for (const [name, value] of Object.entries(more)) error[name] = value;
}

/** An error that no code caught. Says whether a domain took it; throws what the last domain's listener throws. */
function takeUncaught(error) {
  let { domain, stack } = current();
  if (domain === undefined) return false;
  describe(error, domain, { domainThrown: true });
  if (stack.at(-1) !== domain) stack = [domain];
  try {
    for (; stack.length > 0; stack = stack.slice(0, -1)) {
      const handler = stack.at(-1);
      if (handler.listenerCount("error") === 0) continue;
      // The listener runs outside of its domain: what it throws is for the next one.
      setStack(stack.slice(0, -1));
      try {
        handler.emit("error", error);
        return true;
      } catch (thrown) {
        if (stack.length === 1) throw thrown;
        error = thrown;
      }
    }
    return false;
  } finally {
    setCurrent(undefined, []);
  }
}
setDomains(takeUncaught);

Object.defineProperty(process, "domain", {
  get: () => current().domain,
  set: (domain) => setCurrent(domain, current().stack),
  enumerable: true,
  configurable: true,
});

// ---- Emitters

EventEmitter.usingDomains = true;

const { init } = EventEmitter;
EventEmitter.init = function (options) {
  hide(this, "domain", null);
  const { domain } = current();
  if (domain !== undefined && !(this instanceof Domain)) this.domain = domain;
  return init.call(this, options);
};

const { emit } = EventEmitter.prototype;
EventEmitter.prototype.emit = function (type, ...args) {
  const { domain } = this;
  if (domain === null || domain === undefined || this === process) return Reflect.apply(emit, this, [type, ...args]);
  if (type === "error" && this.listenerCount("error") === 0 && typeof domain.emit === "function") {
    const error = args.length > 0 && args[0] ? args[0] : new (require("internal/errors").ERR_UNHANDLED_ERROR)(args[0]);
    describe(error, domain, { domainEmitter: this, domainThrown: false });
    const { domain: active, stack } = current();
    // The listener runs outside of the domain whose it is.
    const at = stack.lastIndexOf(domain);
    if (at >= 0) setStack(stack.slice(0, at));
    try {
      domain.emit("error", error);
    } finally {
      setCurrent(active, stack);
    }
    return false;
  }
  domain.enter();
  const result = Reflect.apply(emit, this, [type, ...args]);
  domain.exit();
  return result;
};

const create = () => new Domain();

module.exports = {
  Domain,
  create,
  createDomain: create,
  get active() { return current().domain; },
  set active(domain) { setCurrent(domain, current().stack); },
  get _stack() { return current().stack; },
  set _stack(stack) { setCurrent(current().domain, stack); },
};
