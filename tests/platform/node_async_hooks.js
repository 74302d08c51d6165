import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { equal, test } from "./harness.js";
export { default } from "./harness.js";

test("a store follows its promises", async () => {
  const storage = new AsyncLocalStorage();
  const seen = await storage.run("a", async () => {
    await null;
    return storage.getStore();
  });
  equal(seen, "a");
  equal(storage.getStore(), undefined);
});

test("a resource brings its store along", () => {
  const storage = new AsyncLocalStorage();
  const resource = storage.run("b", () => new AsyncResource("test"));
  equal(resource.runInAsyncScope(() => storage.getStore()), "b");
});
