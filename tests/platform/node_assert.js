// node:assert and node:assert/strict: https://nodejs.org/api/assert.html
import assert from "node:assert";
import strict from "node:assert/strict";
import { equal, ok, rejects, test, throws } from "./harness.js";

export { default } from "./harness.js";

const fails = (run, message) => throws(run, { name: "AssertionError", code: "ERR_ASSERTION", ...(message && { message }) });

test("messages show what differs", () => {
  fails(() => assert.strictEqual(1, 2), "Expected values to be strictly equal:\n\n1 !== 2\n");
  fails(() => assert.deepStrictEqual({ a: 1, b: [1, 2] }, { a: 1, b: [1, 3] }),
    "Expected values to be strictly deep-equal:\n+ actual - expected\n\n  {\n    a: 1,\n    b: [\n      1,\n+     2\n-     3\n    ]\n  }\n");
  fails(() => assert.equal(1, 2), "1 == 2");
  fails(() => assert(0, "given"), "given");
  throws(() => assert(0, new TypeError("own")), { name: "TypeError" });
});

test("deep equality, loose and strict", () => {
  assert.deepEqual({ a: "1" }, { a: 1 });
  assert.deepEqual(new Set([{ a: 1 }, { b: 2 }]), new Set([{ b: 2 }, { a: 1 }]));
  assert.deepStrictEqual([NaN, , new Date(1), /x/g, new Error("e")], [NaN, , new Date(1), /x/g, new Error("e")]);
  const left = {}, right = {};
  left.other = right;
  right.other = left;
  assert.deepStrictEqual(left, right);
  fails(() => assert.deepStrictEqual([0], [-0]));
  fails(() => assert.deepStrictEqual(Object.create(null), {}));
  fails(() => assert.deepStrictEqual(new Map([[1, 2]]), new Map([[1, 3]])));
  fails(() => strict.deepEqual([1], ["1"]));
  fails(() => assert.notDeepStrictEqual([1], [1]));
  assert.partialDeepStrictEqual({ a: 1, b: { c: [1, 2, 3] } }, { b: { c: [1, 3] } });
  fails(() => assert.partialDeepStrictEqual({ a: 1 }, { b: 1 }));
});

test("throws, rejects, match, ifError", async () => {
  assert.throws(() => { throw new TypeError("wrong"); }, TypeError);
  assert.throws(() => { throw new TypeError("wrong"); }, { name: "TypeError", message: /wr/ });
  fails(() => assert.throws(() => {}), "Missing expected exception.");
  fails(() => assert.throws(() => { throw new Error("x"); }, /y/));
  fails(() => assert.doesNotThrow(() => { throw new Error("x"); }), /Got unwanted exception/);
  await assert.rejects(Promise.reject(new Error("x")), /x/);
  await rejects(assert.rejects(async () => {}), /Missing expected rejection/);
  assert.match("abc", /b/);
  fails(() => assert.doesNotMatch("abc", /b/));
  fails(() => assert.ifError(new Error("e")), "ifError got unwanted exception: e");
  assert.ifError(null);
});

test("AssertionError", () => {
  const error = new assert.AssertionError({ actual: 1, expected: 2, operator: "strictEqual" });
  ok(error instanceof Error && error.generatedMessage);
  ok(/^AssertionError \[ERR_ASSERTION\]: Expected values/.test(error.stack), error.stack);
  equal(Object.keys(error).join(), "generatedMessage,code,actual,expected,operator,diff");
});
