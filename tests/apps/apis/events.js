import { assert, equal, throws } from "./assert.js";

export function targets() {
  const target = new EventTarget();
  const seen = [];
  const listener = (event) => seen.push(event.type, event.target === target);
  target.addEventListener("x", listener);
  target.addEventListener("x", listener);
  target.addEventListener("x", () => seen.push("once"), { once: true });
  target.dispatchEvent(new Event("x"));
  target.removeEventListener("x", listener);
  target.dispatchEvent(new Event("x"));
  equal(seen, ["x", true, "once"]);
}

export function cancelling() {
  const target = new EventTarget();
  target.addEventListener("x", (event) => event.preventDefault());
  equal(target.dispatchEvent(new Event("x", { cancelable: true })), false);
  equal(target.dispatchEvent(new Event("x")), true);
  equal(new CustomEvent("c", { detail: 5 }).detail, 5);
}

export async function exceptions() {
  const error = new DOMException("message", "NotFoundError");
  equal([error.name, error.message, error.code], ["NotFoundError", "message", 8]);
  assert(error instanceof Error && typeof error.stack === "string");
  await throws("InvalidStateError", () => {
    const event = new Event("x");
    const target = new EventTarget();
    target.addEventListener("x", () => target.dispatchEvent(event));
    let inner;
    target.addEventListener("x", () => { try { target.dispatchEvent(event); } catch (e) { inner = e; } }, { capture: true });
    target.dispatchEvent(event);
    throw inner;
  });
}
