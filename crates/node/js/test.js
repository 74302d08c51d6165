"use strict";
// node:test (https://nodejs.org/api/test.html), as far as files of tests run by themselves: test, it, suite, describe, hooks,
// subtests, skip, todo, and functions that record their calls. Tests run one after the other from the next tick on; failures
// are written to console.error, and the first one is thrown as an unhandled rejection when all have run.
//
// Deviations: there is no runner, no reporter and no concurrency; only, timeouts and mock.timers are not there; run() throws.

const { ERR_FEATURE_UNAVAILABLE_ON_PLATFORM } = require("internal/errors");
const { format } = require("internal/util/format");

const HOOKS = ["before", "after", "beforeEach", "afterEach"];

class Suite {
  constructor(name, parent) {
    this.name = name;
    this.parent = parent;
    this.entries = [];
    for (const hook of HOOKS) this[hook] = [];
  }
  /** The hooks of this suite and of those around it, outermost first. */
  each(hook) {
    return [...(this.parent?.each(hook) ?? []), ...this[hook]];
  }
}

const root = new Suite("", undefined);
let current = root;
let scheduled = false;
const failures = [];

function parse(args) {
  let [name, options, fn] = args;
  if (typeof name === "function") [name, options, fn] = [name.name, {}, name];
  else if (typeof name === "object" && name !== null) [name, options, fn] = [options?.name ?? "<anonymous>", name, options];
  if (typeof options === "function") [options, fn] = [{}, options];
  return { name: name || fn?.name || "<anonymous>", options: options ?? {}, fn: fn ?? (() => {}) };
}

function isLeftOut({ options }) {
  return Boolean(options.skip) || (options.todo && options.todo !== "");
}

class TestContext {
  #suite;
  mock = new MockTracker();
  constructor(name, suite) {
    this.name = name;
    this.fullName = suite.name === "" ? name : `${suite.name} > ${name}`;
    this.signal = new AbortController().signal;
    this.#suite = new Suite(name, suite);
    for (const hook of HOOKS) this[hook] = (fn) => { this.#suite[hook].push(fn); };
  }
  get assert() {
    const assert = require("assert");
    return { ...assert, ok: assert.ok };
  }
  diagnostic(message) { console.log(message); }
  plan() {}
  skip() {}
  todo() {}
  runOnly() {}
  test(...args) { return runTest(parse(args), this.#suite); }
  async end() {
    for (const fn of this.#suite.after) await fn(this);
    this.mock.restoreAll();
  }
}

/** Calls with the way that a function answers: by a promise, at once, or by calling back where it takes a second argument. */
function call(fn, context) {
  if (fn.length < 2) return fn.call(context, context);
  return new Promise((resolve, reject) => {
    fn.call(context, context, (error) => (error ? reject(error) : resolve()));
  });
}

async function runTest(entry, suite) {
  if (isLeftOut(entry)) return;
  const context = new TestContext(entry.name, suite);
  try {
    for (const hook of suite.each("beforeEach")) await hook(context);
    try {
      await call(entry.fn, context);
    } finally {
      for (const hook of suite.each("afterEach").reverse()) await hook(context);
      await context.end();
    }
  } catch (error) {
    failures.push(error);
    console.error(format("not ok %s\n%o", context.fullName, error?.stack ?? error));
  }
}

async function runSuite(suite) {
  for (const hook of suite.before) await hook();
  for (let i = 0; i < suite.entries.length; i++) {
    const entry = suite.entries[i];
    if (entry instanceof Suite) await runSuite(entry);
    else entry.done(await runTest(entry, suite));
  }
  suite.entries.length = 0;
  for (const hook of suite.after) await hook();
}

function schedule() {
  if (scheduled) return;
  scheduled = true;
  queueMicrotask(async () => {
    await null;
    try {
      await runSuite(root);
    } finally {
      scheduled = false;
    }
    if (failures.length > 0) throw failures.splice(0)[0];
  });
}

function test(...args) {
  const entry = parse(args);
  return new Promise((done) => {
    current.entries.push({ ...entry, done });
    schedule();
  });
}

function suite(...args) {
  const entry = parse(args);
  if (isLeftOut(entry)) return Promise.resolve();
  const made = new Suite(current.name === "" ? entry.name : `${current.name} > ${entry.name}`, current);
  current.entries.push(made);
  const outer = current;
  current = made;
  try {
    entry.fn({ name: made.name });
  } finally {
    current = outer;
  }
  schedule();
  return Promise.resolve();
}

for (const fn of [test, suite]) {
  fn.skip = (...args) => {
    const { name, options } = parse(args);
    return fn(name, { ...options, skip: true }, () => {});
  };
  fn.todo = fn.skip;
  fn.only = fn;
}

class MockTracker {
  #restores = [];

  /** A function that records its calls in `mock.calls`. */
  fn(original = function () {}, implementation = original) {
    const calls = [];
    let current = typeof implementation === "function" ? implementation : original;
    const once = new Map();
    const mock = {
      calls, callCount: () => calls.length, resetCalls() { calls.length = 0; },
      mockImplementation(next) { current = next; },
      mockImplementationOnce(next, at = calls.length) { once.set(at, next); },
      restore() { current = original; },
    };
    return new Proxy(original, {
      apply(_, self, args) {
        const run = once.get(calls.length) ?? current;
        const record = { arguments: args, this: self, target: undefined, result: undefined, error: undefined, stack: new Error() };
        calls.push(record);
        try {
          return (record.result = Reflect.apply(run, self, args));
        } catch (error) {
          record.error = error;
          throw error;
        }
      },
      get: (target, key) => (key === "mock" ? mock : Reflect.get(target, key)),
    });
  }

  method(object, name, implementation = object[name], options = {}) {
    const kind = options.getter ? "get" : options.setter ? "set" : "value";
    let owner = object;
    while (owner !== null && !Object.hasOwn(owner, name)) owner = Object.getPrototypeOf(owner);
    const desc = Object.getOwnPropertyDescriptor(owner, name);
    const fn = this.fn(desc[kind], typeof implementation === "function" ? implementation : desc[kind]);
    Object.defineProperty(object, name, { ...desc, [kind]: fn, configurable: true });
    const restore = () => {
      if (owner === object) Object.defineProperty(object, name, desc);
      else delete object[name];
    };
    this.#restores.push(restore);
    fn.mock.restore = restore;
    return fn;
  }

  getter(object, name, implementation) { return this.method(object, name, implementation, { getter: true }); }
  setter(object, name, implementation) { return this.method(object, name, implementation, { setter: true }); }
  restoreAll() { for (const restore of this.#restores.splice(0)) restore(); }
  reset() { this.restoreAll(); }
}

function run() {
  const error = new ERR_FEATURE_UNAVAILABLE_ON_PLATFORM("test.run");
  error.message = "test.run is not available in Hearth: files of tests run when they are imported";
  throw error;
}

for (const hook of HOOKS) test[hook] = (fn) => { current[hook].push(fn); };
module.exports = Object.assign(test, {
  describe: suite, it: test, mock: new MockTracker(), run, suite, test,
});
