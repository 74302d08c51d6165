// node:test: https://nodejs.org/api/test.html
import run, { afterEach, beforeEach, describe, it, mock, test as nodeTest } from "node:test";
import { equal, same, test, throws } from "./harness.js";

export { default } from "./harness.js";

test("tests run in order, with their hooks and subtests", async () => {
  const order = [];
  describe("suite", () => {
    beforeEach(() => order.push("before"));
    afterEach(() => order.push("after"));
    it("first", () => order.push("first"));
    it.skip("never", () => order.push("never"));
    it("second", (t, done) => setTimeout(() => done(order.push("second"))));
  });
  await nodeTest("last", async (t) => {
    await t.test("sub", () => order.push("sub"));
    t.after(() => order.push("end"));
    order.push("last");
  });
  same(order, ["before", "first", "after", "before", "second", "after", "sub", "last", "end"]);
});

test("mocks record their calls", () => {
  const add = mock.fn((a, b) => a + b);
  equal(add(1, 2), 3);
  same(add.mock.calls[0].arguments, [1, 2]);
  const object = { get: () => 1 };
  mock.method(object, "get", () => 2);
  equal(object.get(), 2);
  mock.restoreAll();
  equal(object.get(), 1);
  throws(() => run.run(), { message: /not available in Hearth/ });
});
