import { assert, equal, throws } from "./assert.js";

export function reasons() {
  const controller = new AbortController();
  equal(controller.signal.aborted, false);
  controller.abort("because");
  equal([controller.signal.aborted, controller.signal.reason], [true, "because"]);
  controller.abort("again");
  equal(controller.signal.reason, "because");
  const plain = new AbortController();
  plain.abort();
  equal([plain.signal.reason.name, plain.signal.reason instanceof DOMException], ["AbortError", true]);
}

export function listeners() {
  const controller = new AbortController();
  let calls = 0;
  controller.signal.addEventListener("abort", () => calls++);
  controller.signal.onabort = (event) => (calls += event.type === "abort" ? 10 : 100);
  controller.abort();
  controller.abort();
  equal(calls, 11);
}

export async function statics() {
  equal(AbortSignal.abort("x").reason, "x");
  await throws("AbortError", () => AbortSignal.abort().throwIfAborted());
  const signal = AbortSignal.timeout(1);
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
  equal(signal.reason.name, "TimeoutError");
}

export function any() {
  const [a, b] = [new AbortController(), new AbortController()];
  const both = AbortSignal.any([a.signal, b.signal]);
  assert(!both.aborted);
  b.abort("b");
  equal([both.aborted, both.reason], [true, "b"]);
}
