// CompressionStream and DecompressionStream: https://compression.spec.whatwg.org/.

import { equal, ok, rejects, same, test, throws } from "./harness.js";
export { default } from "./harness.js";

const FORMATS = ["deflate", "deflate-raw", "gzip", "brotli", "zstd"];
const encode = (text) => new TextEncoder().encode(text);

async function collect(stream) {
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
const compress = (bytes, format) => collect(new Blob([bytes]).stream().pipeThrough(new CompressionStream(format)));
const decompress = (bytes, format) => collect(new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format)));
const base64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

for (const format of FORMATS) {
  test(`${format}: what was compressed comes back`, async () => {
    for (const size of [0, 1, 1000, 20_000]) {
      const bytes = new Uint8Array(size).map((_, at) => (at * at) >> 7);
      const packed = await compress(bytes, format);
      ok(size <= 1000 || packed.length < size, `${size} became ${packed.length}`);
      same(await decompress(packed, format), bytes);
    }
  });

  test(`${format}: chunks of any size, and every kind of view`, async () => {
    const stream = new CompressionStream(format);
    const writer = stream.writable.getWriter();
    const buffer = encode("abcdefgh").buffer;
    const chunks = [buffer, new Uint8Array(buffer, 1, 3), new DataView(buffer, 2), new Uint16Array(buffer, 4, 2), new Uint8Array()];
    const written = chunks.map((chunk) => writer.write(chunk));
    const packed = await Promise.all([collect(stream.readable), ...written, writer.close()]).then(([all]) => all);
    const single = new ReadableStream({
      start(controller) {
        for (const byte of packed) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    const back = await collect(single.pipeThrough(new DecompressionStream(format)));
    equal(new TextDecoder().decode(back), "abcdefghbcdcdefghefgh");
  });

  test(`${format}: what is cut, damaged or followed by something fails`, async () => {
    const packed = await compress(encode("hello, hello, hello"), format);
    await rejects(decompress(packed.slice(0, -1), format), { name: "TypeError" });
    await rejects(decompress(new Uint8Array(0), format), { name: "TypeError" });
    const more = new Uint8Array(packed.length + 1);
    more.set(packed);
    await rejects(decompress(more, format), { name: "TypeError" });
    await rejects(decompress(encode("\xff\xff certainly not compressed"), format), { name: "TypeError" });
  });
}

test("one gzip member is all", async () => {
  const packed = await compress(encode("one"), "gzip");
  await rejects(decompress(new Uint8Array([...packed, ...packed]), "gzip"), { name: "TypeError" });
});

test("zstd has any number of frames", async () => {
  const packed = await compress(encode("one"), "zstd");
  equal(new TextDecoder().decode(await decompress(new Uint8Array([...packed, ...packed]), "zstd")), "oneone");
});

test("what others compressed", async () => {
  const text = "expected output";
  const others = [
    ["gzip", "H4sIAAAAAAAAA0utKEhNLklNUcgvLSkoLQEAsAE5sw8AAAA="],
    ["deflate", "eJxLrShITS5JTVHILy0pKC0BADCtBiQ="],
    ["deflate-raw", "S60oSE0uSU1RyC8tKSgtAQA="],
    ["brotli", "Gw4A+CUAihBDqpRuphA="],
  ];
  for (const [format, packed] of others) {
    equal(new TextDecoder().decode(await decompress(base64(packed), format)), text, format);
  }
});

test("formats and arguments are checked", () => {
  throws(() => new CompressionStream(), { name: "TypeError" });
  throws(() => new CompressionStream("lzma"), { name: "TypeError" });
  throws(() => new DecompressionStream("GZIP"), { name: "TypeError" });
  equal(String(new CompressionStream({ toString: () => "gzip" })), "[object CompressionStream]");
});

test("chunks that are no bytes fail", async () => {
  for (const chunk of [undefined, null, 3, "text", {}, [1]]) {
    const stream = new CompressionStream("gzip");
    const writer = stream.writable.getWriter();
    const reading = stream.readable.getReader().read().catch(() => {});
    await rejects(writer.write(chunk), { name: "TypeError" });
    await reading;
  }
});

test("a bomb is read in pieces", async () => {
  // 2 MiB of zeros.
  const zeros = new Uint8Array(1 << 18);
  const bomb = await collect(new ReadableStream({
    pull(controller) {
      controller.enqueue(zeros);
      this.count = (this.count ?? 0) + 1;
      if (this.count === 8) controller.close();
    },
  }).pipeThrough(new CompressionStream("gzip")));
  ok(bomb.length < 10_000, `${bomb.length} bytes`);
  let total = 0;
  for await (const piece of new Blob([bomb]).stream().pipeThrough(new DecompressionStream("gzip"))) total += piece.length;
  equal(total, 2 << 20);
});

test("a reader that wants no more ends it", async () => {
  const bomb = await compress(new Uint8Array(2 << 20), "gzip");
  const stream = new DecompressionStream("gzip");
  const writer = stream.writable.getWriter();
  const writing = writer.write(bomb).catch((error) => error);
  const reader = stream.readable.getReader();
  ok((await reader.read()).value.length > 0);
  await reader.cancel("enough");
  await writing;
  await rejects(writer.closed.then(() => { throw "closed"; }).catch((reason) => { throw new Error(String(reason)); }), /enough|closed/);
});

test("many streams that are never closed", async () => {
  for (let i = 0; i < 500; i++) new DecompressionStream(FORMATS[i % 5]);
});
