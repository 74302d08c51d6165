// The global `Bun`: https://bun.sh/docs/api/utils. Bun.serve has its tests in tests/all/node_server.rs.

import { gzipSync } from "node:zlib";
import { equal, ok, rejects, same, test, throws } from "./harness.js";
export { default } from "./harness.js";

const bytes = (text) => new TextEncoder().encode(text);
const text = (view) => new TextDecoder().decode(view);

test("the object", () => {
  const { enumerable, writable, configurable } = Object.getOwnPropertyDescriptor(globalThis, "Bun");
  same([enumerable, writable, configurable], [false, true, true]);
  ok(Object.isFrozen(Bun) && Object.keys(Bun).includes("sleep"));
  equal(Bun.file, Hearth.file);
  equal(Bun.env, process.env);
  equal(Bun.sleep, Bun.sleep);
  same([Bun.version, Bun.hash, Bun.write, process.versions.bun], [undefined, undefined, undefined, undefined]);
});

test("sleep", async () => {
  equal(await Bun.sleep(0), undefined);
  equal(await Bun.sleep(-5), undefined);
  equal(await Bun.sleep(new Date(Date.now() + 1)), undefined);
  for (const time of [undefined, "1", 1n, null, {}]) throws(() => Bun.sleep(time), { name: "TypeError", message: /expects a number/ });
  const before = Bun.nanoseconds();
  ok(Number.isInteger(before) && Bun.nanoseconds() >= before);
});

test("escapeHTML", () => {
  equal(Bun.escapeHTML(`<a href='x'>"&"</a>`), "&lt;a href=&#x27;x&#x27;&gt;&quot;&amp;&quot;&lt;/a&gt;");
  same([12, null, true, {}, "", "\u00e9 \u{1f600} $&"].map(Bun.escapeHTML), ["12", "null", "true", "[object Object]", "", "\u00e9 \u{1f600} $&amp;"]);
  throws(() => Bun.escapeHTML(Symbol()), { name: "TypeError" });
});

test("inspect", () => {
  equal(Bun.inspect({ a: [1, "x"] }), "{ a: [ 1, 'x' ] }");
  equal(Bun.inspect.custom, Symbol.for("nodejs.util.inspect.custom"));
  equal(Bun.gc(true), 0);
  equal(Bun.stripANSI("\u001b[31mred\u001b[39m"), "red");
});

test("compression", () => {
  const hex = (view) => Array.from(view, (byte) => byte.toString(16).padStart(2, "0")).join("");
  equal(hex(Bun.deflateSync("aaaa")), "4b4c4c4c0400");
  for (const data of ["aaaa", bytes("aaaa"), bytes("aaaa").buffer, Buffer.from("aaaa")]) {
    const packed = Bun.gzipSync(data);
    equal(packed.constructor, Uint8Array);
    equal(packed.byteLength, packed.buffer.byteLength);
    equal(text(Bun.gunzipSync(packed)), "aaaa");
    equal(text(Bun.inflateSync(Bun.deflateSync(data))), "aaaa");
  }
  equal(text(Bun.gunzipSync(gzipSync("node"))), "node");
  equal(Bun.gzipSync("x".repeat(50), { level: 0 }).length, 73);
  for (const data of [undefined, 1, null, {}]) throws(() => Bun.gzipSync(data), { name: "TypeError", code: "ERR_INVALID_ARG_TYPE" });
  for (const name of ["gunzipSync", "inflateSync"]) throws(() => Bun[name](bytes("nonsense")), { name: "Error" });
});

test("paths", () => {
  equal(Bun.fileURLToPath("file:///a%20b"), "/a b");
  equal(Bun.pathToFileURL("/a b").href, "file:///a%20b");
});

test("streams", async () => {
  const stream = (content = '{"a":1}') => new Blob([content]).stream();
  equal(await Bun.readableStreamToText(stream()), '{"a":1}');
  same(await Bun.readableStreamToJSON(stream()), { a: 1 });
  same(await Bun.readableStreamToBytes(stream("ab")), bytes("ab"));
  same(await Bun.readableStreamToArrayBuffer(stream("ab")), bytes("ab").buffer);
  equal((await Bun.readableStreamToBlob(stream("ab"))).size, 2);
  same(await Bun.readableStreamToArray(ReadableStream.from([1, "b"])), [1, "b"]);
  await rejects(Bun.readableStreamToJSON(stream("{")), { name: "SyntaxError" });
});

test("what is not there says what to use instead", () => {
  for (const name of ["hash", "hashSync", "verify", "verifySync"]) throws(() => Bun.password[name]("x"), /scrypt/);
});
