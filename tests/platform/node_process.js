// node:process (https://nodejs.org/api/process.html).

import { AsyncLocalStorage } from "node:async_hooks";
import imported from "node:process";
import { equal, ok, same, test, throws } from "./harness.js";

export { default } from "./harness.js";

test("the global is the module", () => {
  equal(process, imported);
  equal(Object.prototype.toString.call(process), "[object process]");
  equal(process.getBuiltinModule("node:process"), process);
  equal(process.getBuiltinModule("nothing"), undefined);
});

test("versions are those that packages look for", () => {
  ok(/^v22\.\d+\.\d+$/.test(process.version));
  equal(process.versions.node, process.version.slice(1));
  equal(`${process.platform} ${process.arch} ${process.release.name}`, "linux x64 node");
});

test("ticks come before promises, in the context that queued them", async () => {
  const calls = [];
  const storage = new AsyncLocalStorage();
  process.nextTick((value) => calls.push(value), "tick");
  Promise.resolve().then(() => calls.push("promise"));
  storage.run("store", () => process.nextTick(() => calls.push(storage.getStore())));
  await new Promise((resolve) => setTimeout(resolve, 1));
  same(calls, ["tick", "store", "promise"]);
  throws(() => process.nextTick(1), { code: "ERR_INVALID_ARG_TYPE" });
});

test("clocks run forward", () => {
  const before = process.hrtime.bigint();
  ok(process.hrtime.bigint() >= before);
  const [seconds, nanoseconds] = process.hrtime(process.hrtime());
  ok(seconds === 0 && nanoseconds >= 0);
  ok(process.uptime() >= 0);
});

test("memory is the isolate's", () => {
  const { rss, heapUsed, heapTotal } = process.memoryUsage();
  ok(heapUsed > 0 && heapUsed <= heapTotal && heapTotal <= rss);
});

test("exit throws what it did", () => {
  let code;
  process.once("exit", (given) => { code = given; });
  // Outside of the request: its answer is not this test's to end.
  equal(typeof process.exit, "function");
  process.emit("exit", 3);
  equal(code, 3);
});

test("warnings are events", async () => {
  const warned = new Promise((resolve) => process.once("warning", resolve));
  process.emitWarning("careful", { type: "Mine", code: "M1", detail: "more" });
  const warning = await warned;
  equal(`${warning.name} ${warning.code} ${warning.message} ${warning.detail}`, "Mine M1 careful more");
});

test("what reaches for the system says what to do instead", () => {
  throws(() => process.kill(1), /process\.kill\(\) is not available in Hearth: .+/);
  throws(() => process.chdir("/tmp"), { code: "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM" });
});
