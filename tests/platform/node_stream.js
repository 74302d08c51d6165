// node:stream and what is below it (https://nodejs.org/api/stream.html).

import { createInterface } from "node:readline";
import { createInterface as createAsking } from "node:readline/promises";
import { compose, Duplex, duplexPair, PassThrough, Readable, Transform, Writable } from "node:stream";
import { buffer, json, text } from "node:stream/consumers";
import { finished, pipeline } from "node:stream/promises";
import { equal, ok, rejects, same, test } from "./harness.js";

export { default } from "./harness.js";

const upper = () => new Transform({
  transform(chunk, encoding, callback) { callback(null, `${chunk}`.toUpperCase()); },
});

test("pipelines end when all is through", async () => {
  const seen = [];
  await pipeline(Readable.from(["a", "b"]), upper(), async function* (source) {
    for await (const chunk of source) yield `<${chunk}>`;
  }, new Writable({ write(chunk, encoding, callback) { seen.push(`${chunk}`); callback(); } }));
  equal(seen.join("").replace(/[<>]/g, ""), "AB");
});

test("a failing part destroys the others", async () => {
  const source = new PassThrough();
  const target = new PassThrough();
  const failing = new Transform({ transform(chunk, encoding, callback) { callback(new Error("no")); } });
  const done = pipeline(source, failing, target);
  source.write("x");
  await rejects(done, /no/);
  ok(source.destroyed && failing.destroyed && target.destroyed);
});

test("writing says when to wait", async () => {
  let callback;
  const target = new Writable({ highWaterMark: 3, write(chunk, encoding, done) { callback = done; } });
  equal(target.write("ab"), true);
  equal(target.write("cd"), false);
  const drained = new Promise((resolve) => target.once("drain", resolve));
  callback();
  await new Promise((resolve) => setTimeout(resolve, 1));
  callback();
  await drained;
});

test("streams are iterators, and have their methods", async () => {
  same(await Readable.from([1, 2, 3, 4]).filter((n) => n % 2 === 0).map((n) => n * 10).toArray(), [20, 40]);
  const chunks = [];
  for await (const chunk of compose(Readable.from(["a"]), upper())) chunks.push(`${chunk}`);
  same(chunks, ["A"]);
});

test("consumers take a whole stream, of either kind", async () => {
  equal(await text(Readable.from(["a", "b"])), "ab");
  same(await json(new Response('{"a":1}').body), { a: 1 });
  ok(Buffer.isBuffer(await buffer(Readable.from([Buffer.from("x")]))));
});

test("node's streams become the web's, and back", async () => {
  equal(await new Response(Readable.toWeb(Readable.from([Buffer.from("ab"), Buffer.from("c")]))).text(), "abc");
  equal(await text(Readable.fromWeb(new Response("body").body)), "body");
  const { readable, writable } = Duplex.toWeb(upper());
  const writer = writable.getWriter();
  writer.write("x");
  writer.close();
  equal(await new Response(readable).text(), "X");
  const seen = [];
  const target = Writable.fromWeb(new WritableStream({ write(chunk) { seen.push(`${chunk}`); } }));
  target.end("last");
  await finished(target);
  same(seen, ["last"]);
});

test("a pair of duplex streams is a pipe each way", async () => {
  const [left, right] = duplexPair();
  left.end("hi");
  right.end("ho");
  same([await text(right), await text(left)], ["hi", "ho"]);
});

test("stdout is a writable stream", async () => {
  ok(process.stdout instanceof Writable);
  await new Promise((resolve) => process.stdout.write("a line of the log\n", resolve));
});

test("readline has the lines of a stream", async () => {
  const lines = [];
  for await (const line of createInterface({ input: Readable.from(["a\r", "\nb\n", "c"]) })) lines.push(line);
  same(lines, ["a", "b", "c"]);
  const input = new PassThrough();
  const answer = createAsking({ input }).question("?");
  input.write("yes\n");
  equal(await answer, "yes");
});

test("a stream that is disposed of is destroyed", async () => {
  const target = new Writable({ write(chunk, encoding, callback) { callback(); } });
  await target[Symbol.asyncDispose]();
  ok(target.destroyed);
});
