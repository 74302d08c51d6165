// node:events (https://nodejs.org/api/events.html).

import EventEmitter, { addAbortListener, errorMonitor, EventEmitterAsyncResource, getEventListeners, getMaxListeners, on, once,
  setMaxListeners } from "node:events";
import { AsyncLocalStorage } from "node:async_hooks";
import { equal, ok, rejects, same, test, throws } from "./harness.js";

export { default } from "./harness.js";

test("listeners are called in order, with this and arguments", () => {
  const emitter = new EventEmitter();
  const calls = [];
  emitter.on("a", function (...args) { calls.push(["on", this === emitter, ...args]); });
  emitter.prependListener("a", (...args) => calls.push(["first", ...args]));
  emitter.once("a", () => calls.push(["once"]));
  equal(emitter.emit("a", 1, 2), true);
  equal(emitter.emit("a"), true);
  equal(emitter.emit("b"), false);
  same(calls, [["first", 1, 2], ["on", true, 1, 2], ["once"], ["first"], ["on", true]]);
  equal(emitter.listenerCount("a"), 2);
  same(emitter.eventNames(), ["a"]);
});

test("listeners that are removed while an event is under way are still called", () => {
  const emitter = new EventEmitter();
  const calls = [];
  const second = () => calls.push("second");
  emitter.on("a", () => { calls.push("first"); emitter.off("a", second); });
  emitter.on("a", second);
  emitter.emit("a");
  emitter.emit("a");
  same(calls, ["first", "second", "first"]);
});

test("an error without listeners is thrown", () => {
  const emitter = new EventEmitter();
  const error = new Error("mine");
  equal(throws(() => emitter.emit("error", error)), error);
  throws(() => emitter.emit("error", "text"), { code: "ERR_UNHANDLED_ERROR", message: "Unhandled error. ('text')" });
  const seen = [];
  emitter.on(errorMonitor, (error) => seen.push(error));
  throws(() => emitter.emit("error", error));
  equal(seen[0], error);
});

test("newListener and removeListener get what was added, not its wrapper", () => {
  const emitter = new EventEmitter();
  const calls = [];
  const listener = () => {};
  emitter.on("newListener", (type, added) => calls.push(["new", type, added === listener, emitter.listenerCount("a")]));
  emitter.on("removeListener", (type, removed) => calls.push(["gone", type, removed === listener]));
  calls.length = 0;
  emitter.once("a", listener);
  equal(emitter.rawListeners("a")[0].listener, listener);
  equal(emitter.listeners("a")[0], listener);
  emitter.emit("a");
  same(calls, [["new", "a", true, 0], ["gone", "a", true]]);
});

test("old-style inheritance works", () => {
  function Old() { EventEmitter.call(this); }
  Object.setPrototypeOf(Old.prototype, EventEmitter.prototype);
  const a = new Old();
  const b = new Old();
  a.on("x", () => {});
  equal(b.listenerCount("x"), 0);
  const mixed = Object.assign({}, EventEmitter.prototype);
  let called = false;
  mixed.on("x", () => { called = true; });
  mixed.emit("x");
  ok(called);
});

test("types may be symbols and names of Object.prototype", () => {
  const emitter = new EventEmitter();
  const symbol = Symbol("s");
  let calls = 0;
  for (const type of [symbol, "__proto__", "constructor", "toString"]) emitter.on(type, () => calls++);
  for (const type of [symbol, "__proto__", "constructor", "toString"]) emitter.emit(type);
  equal(calls, 4);
  equal(emitter.emit("hasOwnProperty"), false);
  equal(emitter.eventNames().length, 4);
});

test("arguments are checked", () => {
  const emitter = new EventEmitter();
  throws(() => emitter.on("a", 5), { code: "ERR_INVALID_ARG_TYPE", name: "TypeError" });
  throws(() => emitter.setMaxListeners(-1), { code: "ERR_OUT_OF_RANGE", name: "RangeError" });
  throws(() => getEventListeners({}, "a"), { code: "ERR_INVALID_ARG_TYPE" });
});

test("once is a promise of an event, or of its error", async () => {
  const emitter = new EventEmitter();
  const event = once(emitter, "a");
  emitter.emit("a", 1, 2);
  same(await event, [1, 2]);
  const failing = once(emitter, "b");
  emitter.emit("error", new Error("no"));
  await rejects(failing, /no/);
  equal(emitter.listenerCount("b") + emitter.listenerCount("error"), 0);
  const controller = new AbortController();
  const aborted = once(emitter, "c", { signal: controller.signal });
  controller.abort("why");
  equal((await rejects(aborted, { name: "AbortError", code: "ABORT_ERR" })).cause, "why");
  const target = new EventTarget();
  const dispatched = once(target, "d");
  const given = new Event("d");
  target.dispatchEvent(given);
  equal((await dispatched)[0], given);
});

test("on iterates over events until it is told to end", async () => {
  const emitter = new EventEmitter();
  const events = on(emitter, "a", { close: ["end"] });
  emitter.emit("a", 1);
  emitter.emit("a", 2);
  emitter.emit("end");
  const seen = [];
  for await (const [value] of events) seen.push(value);
  same(seen, [1, 2]);
  equal(emitter.listenerCount("a"), 0);
  const failing = on(emitter, "a");
  const next = failing.next();
  emitter.emit("error", new Error("no"));
  await rejects(next, /no/);
  equal((await failing.next()).done, true);
});

test("EventTargets can be asked for their listeners and limits", () => {
  const target = new EventTarget();
  const listener = () => {};
  target.addEventListener("a", listener);
  equal(getEventListeners(target, "a")[0], listener);
  equal(getEventListeners(target, "b").length, 0);
  setMaxListeners(3, target);
  equal(getMaxListeners(target), 3);
  equal(getMaxListeners(new EventEmitter().setMaxListeners(4)), 4);
});

test("addAbortListener is disposable", () => {
  const controller = new AbortController();
  let calls = 0;
  addAbortListener(controller.signal, () => calls++)[Symbol.dispose]();
  addAbortListener(controller.signal, () => calls++);
  controller.abort();
  equal(calls, 1);
});

test("captured rejections are error events", async () => {
  const emitter = new EventEmitter({ captureRejections: true });
  emitter.on("a", async () => { throw new Error("async"); });
  const failed = once(emitter, "error");
  emitter.emit("a");
  equal((await failed)[0].message, "async");
});

test("EventEmitterAsyncResource calls listeners in the context in which it was made", () => {
  const storage = new AsyncLocalStorage();
  const emitter = storage.run("made", () => new EventEmitterAsyncResource({ name: "Q" }));
  let seen;
  emitter.on("a", () => { seen = storage.getStore(); });
  storage.run("emitted", () => emitter.emit("a"));
  equal(seen, "made");
  equal(emitter.asyncResource.eventEmitter, emitter);
});
