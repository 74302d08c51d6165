import { equal, ok, rejects, same, test, throws } from "./harness.js";

export { default } from "./harness.js";

test("tasks run in the order of their priorities", async () => {
  const order = [];
  const post = (name, options) => scheduler.postTask(() => order.push(name), options);
  await Promise.all([
    post("background", { priority: "background" }), post("visible"), post("blocking", { priority: "user-blocking" }),
    scheduler.yield().then(() => order.push("yield")), post("later", { delay: 20, priority: "user-blocking" }),
  ]);
  same(order, ["blocking", "yield", "visible", "background", "later"]);
});

test("a task's result is the promise's, and a signal takes it back", async () => {
  equal(await scheduler.postTask(() => 7), 7);
  await rejects(scheduler.postTask(() => { throw new RangeError("no"); }), { name: "RangeError" });
  const controller = new AbortController();
  let ran = false;
  const task = scheduler.postTask(() => { ran = true; }, { signal: controller.signal });
  controller.abort("enough");
  equal(await task.catch((reason) => reason), "enough");
  await scheduler.wait(1);
  ok(!ran);
  equal(await scheduler.wait(1e9, { signal: AbortSignal.abort("at once") }).catch((reason) => reason), "at once");
  await rejects(scheduler.postTask(() => {}, { priority: "high" }), { name: "TypeError" });
  throws(() => new Scheduler(), { name: "TypeError" });
});

test("channels of a name tell each other", async () => {
  const [one, two, three, other] = ["a", "a", "a", "b"].map((name) => new BroadcastChannel(name));
  const got = [];
  one.onmessage = () => got.push("one");
  other.onmessage = () => got.push("other");
  const both = Promise.all([two, three].map((channel) => new Promise((resolve) => {
    channel.addEventListener("message", ({ data }) => resolve(data), { once: true });
  })));
  one.postMessage({ list: [1] });
  const [first, second] = await both;
  same([first, second], [{ list: [1] }, { list: [1] }]);
  ok(first !== second);
  throws(() => one.postMessage(() => {}), { name: "DataCloneError" });
  for (const channel of [one, two, three, other]) channel.close();
  throws(() => one.postMessage(1), { name: "InvalidStateError" });
  same(got, []);
});
