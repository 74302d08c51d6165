// What once ended the process, or took memory beyond any limit, by one call: each is an ordinary error, and the worker lives.
import { ok, rejects, test, throws } from "./harness.js";
import { Buffer } from "node:buffer";
export { default } from "./harness.js";

test("accessors on the prototype of arrays do not run while a clone is read", () => {
  Object.defineProperty(Array.prototype, "0", { configurable: true, set() {}, get() { return {}; } });
  try {
    structuredClone(new Blob(["x"]));
  } catch {
    // The app has broken arrays for itself: an error is as good as a clone.
  } finally {
    delete Array.prototype[0];
  }
  ok(structuredClone(new Blob(["x"])) instanceof Blob);
});

test("texts that are longer than the memory limit are refused before they are copied", () => {
  const long = "x".repeat(2 ** 29 - 30);
  throws(() => Buffer.from(long, "utf16le"), { name: "RangeError", message: /memory limit/ });
  throws(() => Buffer.from(long, "latin1"), { name: "RangeError" });
  throws(() => new TextEncoder().encode(long), { name: "RangeError" });
  throws(() => Buffer.alloc(8).write(long, "hex"), { name: "RangeError" });
});

test("a length that lies is not believed", async () => {
  const { default: vm } = await import("node:vm");
  const parameters = [];
  await rejects(async () => vm.compileFunction("1", parameters, { get filename() { parameters.length = 2 ** 32 - 1; return "x"; } }));
});

test("computations that wait hold no more than the memory limit", async () => {
  const { pbkdf2 } = await import("node:crypto");
  const password = new Uint8Array(20 << 20);
  const run = () => new Promise((resolve, reject) => {
    pbkdf2(password, "salt", 60_000, 32, "sha512", (error) => (error ? reject(error) : resolve()));
  });
  const results = await Promise.allSettled(Array.from({ length: 20 }, run));
  const refused = results.filter(({ status }) => status === "rejected");
  ok(refused.length >= 10 && refused.length < 20, refused.length);
});

test("the timeline of marks does not grow for ever", () => {
  for (let i = 0; i < 25_000; i++) performance.mark("m");
  const kept = performance.getEntriesByName("m").length;
  ok(kept <= 10_000 && kept >= 5_000, kept);
  performance.clearMarks();
});
