import { assert, equal, throws } from "./assert.js";

const collect = async (stream) => {
  const all = [];
  for await (const chunk of stream) all.push(chunk);
  return all;
};

export async function readable() {
  let n = 0;
  const stream = new ReadableStream({ pull: (controller) => (n < 3 ? controller.enqueue(n++) : controller.close()) });
  equal(await collect(stream), [0, 1, 2]);
  equal(await collect(ReadableStream.from(["a", "b"])), ["a", "b"]);
}

export async function tee() {
  const [a, b] = ReadableStream.from([1, 2]).tee();
  equal([await collect(a), await collect(b)], [[1, 2], [1, 2]]);
}

export async function transform() {
  const doubled = ReadableStream.from([1, 2]).pipeThrough(new TransformStream({
    transform: (chunk, controller) => controller.enqueue(chunk * 2),
    flush: (controller) => controller.enqueue("end"),
  }));
  equal(await collect(doubled), [2, 4, "end"]);
}

export async function writable() {
  const written = [];
  const stream = new WritableStream({ write: (chunk) => void written.push(chunk), close: () => void written.push("closed") });
  await ReadableStream.from(["a", "b"]).pipeTo(stream);
  equal(written, ["a", "b", "closed"]);
  const failing = new WritableStream({ write: () => { throw new RangeError("no"); } });
  await throws("RangeError", () => ReadableStream.from([1]).pipeTo(failing));
}

export async function byob() {
  const stream = new ReadableStream({
    type: "bytes",
    pull(controller) {
      controller.enqueue(new Uint8Array([1, 2, 3, 4, 5]));
      controller.close();
    },
  });
  const reader = stream.getReader({ mode: "byob" });
  const { value } = await reader.read(new Uint8Array(3));
  equal([...value], [1, 2, 3]);
  equal([...(await reader.read(new Uint8Array(3))).value], [4, 5]);
  equal((await reader.read(new Uint8Array(3))).done, true);
}

export async function errors() {
  const stream = new ReadableStream({ start: (controller) => controller.error(new RangeError("broken")) });
  await throws("RangeError", () => collect(stream));
  const locked = new ReadableStream();
  locked.getReader();
  await throws("TypeError", () => locked.getReader());
  await throws("TypeError", () => locked.cancel());
}

export async function cancel_reaches_the_source() {
  let reason;
  const stream = new ReadableStream({ cancel: (r) => void (reason = r) });
  await stream.cancel("enough");
  equal(reason, "enough");
  const reader = new ReadableStream({ cancel: (r) => void (reason = r) }).getReader();
  await reader.cancel("more");
  equal([reason, (await reader.read()).done], ["more", true]);
}

export async function text_streams() {
  const bytes = new TextEncoder().encode("ü🔥");
  const parts = ReadableStream.from(Array.from(bytes, (byte) => new Uint8Array([byte])));
  equal((await collect(parts.pipeThrough(new TextDecoderStream()))).join(""), "ü🔥");
  assert((await collect(ReadableStream.from(["a"]).pipeThrough(new TextEncoderStream())))[0] instanceof Uint8Array);
}
