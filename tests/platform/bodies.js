// Bodies beyond the standard: async iterables, as Node, Deno and Bun take them.
import { equal, rejects, test } from "./harness.js";
export { default } from "./harness.js";

async function* pieces() {
  yield new TextEncoder().encode("one ");
  await null;
  yield new TextEncoder().encode("two");
}

test("an async iterable is a body", async () => {
  equal(await new Response(pieces()).text(), "one two");
  equal(await new Request("http://a.example/", { method: "POST", body: pieces(), duplex: "half" }).text(), "one two");
});

test("what it throws is what reading throws", async () => {
  async function* broken() {
    throw new RangeError("broken");
  }
  await rejects(new Response(broken()).text(), { name: "RangeError" });
});

test("other objects are texts still", async () => {
  equal(await new Response({}).text(), "[object Object]");
});
