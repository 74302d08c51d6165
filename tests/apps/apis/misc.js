import { assert, equal, throws } from "./assert.js";

export function globals() {
  assert(globalThis.self === globalThis);
  equal(typeof navigator.userAgent, "string");
  assert(performance.now() >= 0 && performance.timeOrigin > 1.6e12);
  equal(Object.prototype.toString.call(new URL("http://x")), "[object URL]");
}

export async function wasm() {
  // (module (func (export "add") (param i32 i32) (result i32) local.get 0 local.get 1 i32.add))
  const bytes = new Uint8Array([
    0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1, 3, 97, 100, 100, 0, 0, 10, 9, 1, 7, 0,
    32, 0, 32, 1, 106, 11,
  ]);
  equal(new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.add(2, 3), 5);
  const { instance } = await WebAssembly.instantiate(bytes);
  equal(instance.exports.add(20, 22), 42);
  equal((await WebAssembly.compile(bytes)) instanceof WebAssembly.Module, true);
  await throws("CompileError", () => WebAssembly.compile(new Uint8Array([1, 2, 3])));
}

export function console_survives_everything() {
  const circle = {};
  circle.self = circle;
  const trap = new Proxy({}, { get() { throw new Error("trap"); }, ownKeys() { throw new Error("trap"); } });
  for (const value of [circle, trap, Symbol("x"), null, undefined, 10n, () => {}, new Map([[circle, trap]]), class A {}, new Date(NaN)]) {
    console.log(value);
  }
  console.log("%s %d %o %%", "a", 1, { b: 2 });
  console.error("to the log");
  console.table([{ a: 1 }]);
  console.time("t");
  console.timeEnd("t");
  console.count();
  console.assert(false, "asserted");
}

export function intl() {
  equal(new Intl.NumberFormat("de-DE").format(1234.5), "1.234,5");
  equal("a,b".localeCompare("b"), -1);
  equal(new Date(0).toISOString(), "1970-01-01T00:00:00.000Z");
}

export async function microtasks_and_promises() {
  const seen = [];
  queueMicrotask(() => seen.push(1));
  Promise.resolve().then(() => seen.push(2));
  await null;
  await null;
  equal(seen, [1, 2]);
  equal(await Promise.any([Promise.reject(1), 2]), 2);
  equal((await Promise.allSettled([Promise.reject(1), 2])).map((r) => r.status), ["rejected", "fulfilled"]);
}
