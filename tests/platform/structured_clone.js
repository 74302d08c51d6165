import { equal, ok, same, test, throws } from "./harness.js";

export { default } from "./harness.js";

test("blobs and files are cloned, deep inside too", async () => {
  const file = new File(["one ", "two"], "a.txt", { type: "text/plain", lastModified: 5 });
  const { list: [copy, blob], map } = structuredClone({ list: [file, new Blob(["x"])], map: new Map([["k", file]]) });
  ok(copy instanceof File && copy !== file && map.get("k") === copy);
  same([await copy.text(), copy.name, copy.type, copy.lastModified], ["one two", "a.txt", "text/plain", 5]);
  ok(blob instanceof Blob && !(blob instanceof File));
});

test("other objects of the platform are refused", () => {
  for (const value of [new Response(), new Headers(), new URL("a:b"), new AbortController().signal, new MessageChannel().port1]) {
    throws(() => structuredClone({ deep: [value] }), { name: "DataCloneError" });
  }
  same(structuredClone(new (class A { x = 1; })()), { x: 1 });
});

test("a port is moved, with what waits at it", async () => {
  const { port1, port2 } = new MessageChannel();
  port1.postMessage("first");
  const { port } = structuredClone({ port: port2 }, { transfer: [port2] });
  ok(port instanceof MessagePort && port !== port2);
  const got = [];
  const done = new Promise((resolve) => {
    port.onmessage = ({ data }) => {
      got.push(data);
      if (data === "second") resolve();
    };
  });
  port1.postMessage("second");
  await done;
  same(got, ["first", "second"]);
  throws(() => structuredClone(port2, { transfer: [port2] }), { name: "DataCloneError" });
});

test("ports come with messages", async () => {
  const [outer, inner] = [new MessageChannel(), new MessageChannel()];
  const answer = new Promise((resolve) => {
    outer.port2.onmessage = ({ data, ports: [port] }) => {
      equal(data.port, port);
      port.postMessage("through");
    };
    inner.port1.onmessage = ({ data }) => resolve(data);
  });
  outer.port1.postMessage({ port: inner.port2 }, [inner.port2]);
  equal(await answer, "through");
  throws(() => outer.port1.postMessage(null, [outer.port1]), { name: "DataCloneError" });
});

test("streams are moved, and their chunks are cloned", async () => {
  const chunk = { n: 1 };
  const stream = new ReadableStream({ start(controller) { controller.enqueue(chunk); controller.close(); } });
  const moved = structuredClone(stream, { transfer: [stream] });
  ok(stream.locked && moved instanceof ReadableStream);
  const [first] = await Array.fromAsync(moved);
  same(first, chunk);
  ok(first !== chunk);
  const written = [];
  const sink = new WritableStream({ write(value) { written.push(value); } });
  const writer = structuredClone(sink, { transfer: [sink] }).getWriter();
  await writer.write("a");
  await writer.close();
  same(written, ["a"]);
  const locked = new ReadableStream();
  locked.getReader();
  throws(() => structuredClone(locked, { transfer: [locked] }), { name: "DataCloneError" });
});

test("a transfer list is checked before anything is moved", () => {
  const buffer = new ArrayBuffer(4);
  throws(() => structuredClone(1, { transfer: [buffer, buffer] }), { name: "DataCloneError" });
  throws(() => structuredClone(1, { transfer: [buffer, {}] }), { name: "DataCloneError" });
  throws(() => structuredClone(() => {}, { transfer: [buffer] }), { name: "DataCloneError" });
  equal(buffer.byteLength, 4);
  equal(structuredClone(buffer, { transfer: [buffer] }).byteLength, 4);
  ok(buffer.detached);
});

test("the clone for a proxy of a prototype is still a plain object", () => {
  const odd = Object.create(new Proxy({}, { getPrototypeOf: () => null }));
  odd.x = 1;
  same(structuredClone(odd), { x: 1 });
});
