// cloudflare:workers: the environment, waitUntil, and the classes that entries extend.
import * as workers from "cloudflare:workers";
import { equal, ok, same, test, throws } from "./harness.js";
export { default } from "./harness.js";

const { DurableObject, RpcStub, RpcTarget, WorkerEntrypoint, WorkflowEntrypoint, env, waitUntil, withEnv } = workers;

test("env is what handlers get, and cannot be changed", () => {
  equal(typeof env, "object");
  same(Object.keys(env), []);
  equal(env.NOTHING, undefined);
  ok(!("NOTHING" in env));
  throws(() => { env.A = "b"; }, { name: "TypeError" });
});

test("withEnv replaces it for a call and what the call starts", async () => {
  const seen = await withEnv({ A: "b" }, async () => {
    await null;
    return { ...env };
  });
  same(seen, { A: "b" });
  equal(env.A, undefined);
});

test("waitUntil takes promises and values", async () => {
  waitUntil(Promise.resolve(1));
  waitUntil(Promise.reject(new Error("is logged")));
  waitUntil(2);
  throws(() => waitUntil(), { name: "TypeError" });
});

test("classes load; those that need other workers say so when they are used", () => {
  const entry = new (class extends WorkerEntrypoint {})("ctx", "env");
  same([entry.ctx, entry.env], ["ctx", "env"]);
  ok(new (class extends RpcTarget {})() instanceof RpcTarget);
  class Room extends DurableObject {}
  throws(() => new Room(), /cloudflare:workers: DurableObject cannot be used/);
  throws(() => new WorkflowEntrypoint(), /workflows/);
  throws(() => new RpcStub(), /use fetch/);
});
