// Errors that no code caught (https://html.spec.whatwg.org/multipage/webappapis.html#runtime-script-errors and
// #unhandled-promise-rejections; https://nodejs.org/api/process.html#event-uncaughtexception). The worker goes on after
// each: all tests of a file are one request's.

import process from "node:process";
import { equal, ok, same, test, throws } from "./harness.js";

export { default } from "./harness.js";

/** What comes by `type` while `run` does. */
async function next(type, run) {
  const { promise, resolve } = Promise.withResolvers();
  const listener = (event) => {
    event.preventDefault();
    resolve(event);
  };
  addEventListener(type, listener);
  try {
    run();
    return await promise;
  } finally {
    removeEventListener(type, listener);
  }
}

async function emitted(type, run) {
  const { promise, resolve } = Promise.withResolvers();
  const listener = (...values) => resolve(values);
  process.on(type, listener);
  try {
    run();
    return await promise;
  } finally {
    process.off(type, listener);
  }
}

test("errors of timers, ticks, microtasks and listeners are events", async () => {
  const error = new Error("mine");
  const fail = () => { throw error; };
  for (const run of [
    () => setTimeout(fail), () => setImmediate(fail), () => process.nextTick(fail), () => queueMicrotask(fail), () => reportError(error),
    () => {
      const target = new EventTarget();
      target.addEventListener("x", fail);
      target.dispatchEvent(new Event("x"));
    },
  ]) {
    const event = await next("error", run);
    ok(event instanceof ErrorEvent && event.cancelable);
    equal(event.error, error);
    ok(event.message.includes("mine"), event.message);
  }
});

test("a rejection is an event with its promise", async () => {
  let promise;
  const event = await next("unhandledrejection", () => { promise = Promise.reject("why"); });
  ok(event instanceof PromiseRejectionEvent && event.cancelable);
  equal(event.promise, promise);
  equal(event.reason, "why");
  const handled = await next("rejectionhandled", () => promise.catch(() => {}));
  equal(handled.promise, promise);
  equal(handled.reason, "why");
  ok(!handled.cancelable);
});

test("a handler that comes in the same turn is in time", async () => {
  let count = 0;
  const listener = (event) => {
    event.preventDefault();
    count++;
  };
  addEventListener("unhandledrejection", listener);
  const early = Promise.reject(1);
  await null;
  early.catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 1));
  removeEventListener("unhandledrejection", listener);
  equal(count, 0);
});

test("a listener that rejects and throws reaches the others", async () => {
  const seen = [];
  const { promise, resolve } = Promise.withResolvers();
  const onRejection = (event) => {
    event.preventDefault();
    seen.push(event.reason);
    if (event.reason === "first") {
      Promise.reject("second");
      throw new Error("third");
    }
    resolve();
  };
  const onError = (event) => {
    event.preventDefault();
    seen.push(event.error.message);
  };
  addEventListener("unhandledrejection", onRejection);
  addEventListener("error", onError);
  Promise.reject("first");
  await promise;
  removeEventListener("unhandledrejection", onRejection);
  removeEventListener("error", onError);
  same(seen, ["first", "third", "second"]);
});

test("rejections without end end the turn", async () => {
  let left = 200;
  const { promise, resolve } = Promise.withResolvers();
  const listener = (event) => {
    event.preventDefault();
    if (left-- > 0) Promise.reject(left);
    else resolve();
  };
  addEventListener("unhandledrejection", listener);
  Promise.reject(left);
  // Turns go on: each takes some of them.
  const timer = setInterval(() => {}, 1);
  await promise;
  clearInterval(timer);
  removeEventListener("unhandledrejection", listener);
  equal(left, -1);
});

test("process has them, too", async () => {
  const error = new Error("mine");
  same(await emitted("uncaughtException", () => setTimeout(() => { throw error; })), [error, "uncaughtException"]);
  let promise;
  const values = await emitted("unhandledRejection", () => { promise = Promise.reject(error); });
  ok(values[0] === error && values[1] === promise);
  equal((await emitted("rejectionHandled", () => promise.catch(() => {})))[0], promise);
});

test("a rejection without a listener of its own is an uncaught exception", async () => {
  const error = new Error("mine");
  same(await emitted("uncaughtException", () => Promise.reject(error)), [error, "unhandledRejection"]);
  const [wrapped, origin] = await emitted("uncaughtException", () => Promise.reject(7));
  same([wrapped.name, wrapped.code, origin], ["UnhandledPromiseRejection", "ERR_UNHANDLED_REJECTION", "unhandledRejection"]);
  ok(wrapped.message.endsWith('with the reason "7".'), wrapped.message);
});

test("a callback for all, and a monitor", async () => {
  const { promise, resolve } = Promise.withResolvers();
  process.setUncaughtExceptionCaptureCallback(resolve);
  ok(process.hasUncaughtExceptionCaptureCallback());
  throws(() => process.setUncaughtExceptionCaptureCallback(() => {}), { code: "ERR_UNCAUGHT_EXCEPTION_CAPTURE_ALREADY_SET" });
  const error = new Error("mine");
  setTimeout(() => { throw error; });
  equal(await promise, error);
  process.setUncaughtExceptionCaptureCallback(null);
  const seen = [];
  const monitor = (given) => seen.push(given.message);
  process.on("uncaughtExceptionMonitor", monitor);
  await emitted("uncaughtException", () => setTimeout(() => { throw error; }));
  process.off("uncaughtExceptionMonitor", monitor);
  same(seen, ["mine"]);
});
