// node:zlib: https://nodejs.org/api/zlib.html.

import { Buffer } from "node:buffer";
import { promisify } from "node:util";
import zlib, { constants } from "node:zlib";
import { equal, ok, rejects, same, test, throws } from "./harness.js";
export { default } from "./harness.js";

const PAIRS = [["gzip", "gunzip"], ["gzip", "unzip"], ["deflate", "inflate"], ["deflate", "unzip"], ["deflateRaw", "inflateRaw"], ["brotliCompress", "brotliDecompress"], ["zstdCompress", "zstdDecompress"]];
const TEXT = "What was compressed comes back. ".repeat(2000);

for (const [pack, unpack] of PAIRS) {
  test(`${pack} and ${unpack}: at once, later, as promises, as streams`, async () => {
    const packed = zlib[`${pack}Sync`](TEXT);
    ok(packed instanceof Buffer && packed.length < TEXT.length / 10, `${packed.length} bytes`);
    equal(zlib[`${unpack}Sync`](packed).toString(), TEXT);
    equal(zlib[`${unpack}Sync`](await promisify(zlib[pack])(TEXT)).toString(), TEXT);
    equal((await promisify(zlib[unpack])(packed, { chunkSize: 100 })).toString(), TEXT);
    const create = (name) => zlib[`create${name[0].toUpperCase()}${name.slice(1)}`]();
    const stream = create(pack);
    stream.write(TEXT.slice(0, 1000));
    stream.end(TEXT.slice(1000));
    let back = "";
    for await (const piece of stream.pipe(create(unpack))) back += piece;
    equal(back, TEXT);
    equal(stream.bytesWritten, TEXT.length);
  });
}

test("errors have Node's codes", async () => {
  const bad = Buffer.from("not compressed at all");
  throws(() => zlib.gunzipSync(bad), { code: "Z_DATA_ERROR", errno: -3, message: "incorrect header check" });
  throws(() => zlib.inflateSync(zlib.deflateSync("x").subarray(0, 5)), { code: "Z_BUF_ERROR", errno: -5, message: "unexpected end of file" });
  throws(() => zlib.brotliDecompressSync(bad), { message: "Decompression failed" });
  throws(() => zlib.zstdDecompressSync(bad), { code: "ZSTD_error_prefix_unknown" });
  throws(() => zlib.gzipSync(3), { code: "ERR_INVALID_ARG_TYPE" });
  throws(() => zlib.gzipSync("x", { level: 10 }), { code: "ERR_OUT_OF_RANGE" });
  throws(() => zlib.createGzip({ windowBits: 8 }), { code: "ERR_OUT_OF_RANGE" });
  throws(() => zlib.createBrotliCompress({ params: { 999: 1 } }), { code: "ERR_BROTLI_INVALID_PARAM" });
  throws(() => zlib.gunzipSync(zlib.gzipSync(TEXT), { maxOutputLength: 100 }), { code: "ERR_BUFFER_TOO_LARGE" });
  await rejects(promisify(zlib.gunzip)(bad), { code: "Z_DATA_ERROR" });
  await rejects(promisify(zlib.gunzip)(zlib.gzipSync(TEXT), { maxOutputLength: 100 }), { code: "ERR_BUFFER_TOO_LARGE" });
});

test("dictionaries", () => {
  const dictionary = Buffer.from("hello world");
  const packed = zlib.deflateSync("hello world", { dictionary });
  equal(zlib.inflateSync(packed, { dictionary }).toString(), "hello world");
  throws(() => zlib.inflateSync(packed), { code: "Z_NEED_DICT", message: "Missing dictionary" });
  throws(() => zlib.inflateSync(packed, { dictionary: Buffer.from("other") }), { message: "Bad dictionary" });
  const raw = zlib.deflateRawSync("hello world", { dictionary });
  equal(zlib.inflateRawSync(raw, { dictionary }).toString(), "hello world");
});

test("members, padding and garbage", () => {
  const two = Buffer.concat([zlib.gzipSync("one"), zlib.gzipSync("two")]);
  equal(zlib.gunzipSync(two).toString(), "onetwo");
  equal(zlib.gunzipSync(Buffer.concat([two, Buffer.alloc(10)])).toString(), "onetwo");
  throws(() => zlib.gunzipSync(Buffer.concat([two, Buffer.alloc(10, 7)])), { code: "Z_DATA_ERROR" });
  const { buffer, engine } = zlib.inflateSync(Buffer.concat([zlib.deflateSync("one"), Buffer.from("rest")]), { info: true });
  equal(buffer.toString(), "one");
  equal(engine.bytesWritten, zlib.deflateSync("one").length);
});

test("flush, params, reset and close", async () => {
  const stream = zlib.createGzip({ level: 0 });
  const pieces = [];
  stream.on("data", (piece) => pieces.push(piece));
  stream.write("one");
  await new Promise((resolve) => { stream.flush(resolve); });
  ok(pieces.length > 0, "flushed");
  await new Promise((resolve) => { stream.params(9, constants.Z_DEFAULT_STRATEGY, resolve); });
  stream.end("two");
  await new Promise((resolve) => { stream.on("end", resolve); });
  equal(zlib.gunzipSync(Buffer.concat(pieces)).toString(), "onetwo");
  const closed = zlib.createInflate();
  await new Promise((resolve) => { closed.close(resolve); });
  ok(closed.destroyed);
});

test("checksums and constants", () => {
  equal(zlib.crc32("hello"), 0x3610a686);
  equal(zlib.crc32(Buffer.from("lo"), zlib.crc32("hel")), 0x3610a686);
  equal(constants.Z_BEST_COMPRESSION, 9);
  equal(zlib.Z_BEST_COMPRESSION, 9);
  equal(zlib.codes.Z_DATA_ERROR, -3);
  equal(zlib.codes["-3"], "Z_DATA_ERROR");
});

test("packages call constructors upon their own objects", () => {
  function Own(options) {
    zlib.Inflate.call(this, options);
  }
  Object.setPrototypeOf(Own.prototype, zlib.Inflate.prototype);
  equal(new Own()._processChunk(zlib.deflateSync("own"), constants.Z_FINISH).toString(), "own");
  equal(new zlib.Deflate().constructor.name, "Deflate");
  throws(() => zlib.Deflate(), { name: "TypeError" });
});

test("parameters and dictionaries take no memory that is not the app's", () => {
  const wide = Buffer.from("28b52ffd00a8010000", "hex");
  throws(() => zlib.zstdDecompressSync(wide, { params: { [constants.ZSTD_d_windowLogMax]: 31 } }));
  for (const params of [{ 160: 1, 161: 28 }, { 160: 1, 101: 10, 164: 25 }, { 101: 31, 102: 30, 103: 30 }, { 100: 22 }]) {
    equal(zlib.zstdDecompressSync(zlib.zstdCompressSync("hi", { params })).toString(), "hi", JSON.stringify(params));
  }
  const text = Buffer.alloc(200_000, "known size ");
  const best = zlib.zstdCompressSync(text, { params: { [constants.ZSTD_c_compressionLevel]: 22 } });
  ok(zlib.zstdDecompressSync(best).equals(text));
  const dictionary = Buffer.alloc(8 << 20);
  const kept = [];
  throws(() => { while (kept.length < 10_000) kept.push(zlib.createInflate({ dictionary })); }, { name: "RangeError" });
  for (const stream of kept) stream.close();
});
