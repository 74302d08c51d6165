// node:timers (https://nodejs.org/api/timers.html).

import timers from "node:timers";
import promises from "node:timers/promises";
import { equal, ok, rejects, same, test, throws } from "./harness.js";

export { default } from "./harness.js";

test("an app that uses Node's modules has Node's timers as globals", () => {
  equal(setTimeout, timers.setTimeout);
  const timer = setTimeout(() => {}, 10_000);
  ok(timer.unref().hasRef() === false && timer.ref().hasRef() === true);
  clearTimeout(timer);
});

test("timers call with their arguments, and are this", async () => {
  const [self, timer, args] = await new Promise((resolve) => {
    const made = setTimeout(function (...given) { resolve([this, made, given]); }, 1, 1, 2);
  });
  equal(self, timer);
  same(args, [1, 2]);
});

test("what is cleared does not call, by object or by number", async () => {
  let calls = 0;
  clearTimeout(setTimeout(() => calls++, 1));
  clearTimeout(+setTimeout(() => calls++, 1));
  clearImmediate(setImmediate(() => calls++));
  const interval = setInterval(() => {
    calls += 10;
    clearInterval(interval);
  }, 1);
  await promises.setTimeout(20);
  equal(calls, 10);
});

test("refresh starts again", async () => {
  let calls = 0;
  const timer = setTimeout(() => {
    if (++calls < 3) timer.refresh();
  }, 1);
  while (calls < 3) await promises.setTimeout(1);
  equal(calls, 3);
});

test("promises take values and signals", async () => {
  equal(await promises.setTimeout(1, "value"), "value");
  equal(await promises.setImmediate("now"), "now");
  await rejects(promises.setTimeout(10_000, 0, { signal: AbortSignal.abort() }), { code: "ABORT_ERR" });
  const seen = [];
  for await (const value of promises.setInterval(1, "x")) if (seen.push(value) === 2) break;
  same(seen, ["x", "x"]);
  await promises.scheduler.wait(1);
});

test("callbacks are checked", () => {
  throws(() => setTimeout("code"), { code: "ERR_INVALID_ARG_TYPE" });
});
