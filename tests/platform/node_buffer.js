// node:buffer: https://nodejs.org/api/buffer.html
import { Buffer, constants, isAscii, isUtf8, kMaxLength, transcode } from "node:buffer";
import { equal, ok, same, test, throws } from "./harness.js";

export { default } from "./harness.js";

const bytes = (buffer) => Array.from(buffer).join(",");

test("a Buffer is a Uint8Array and the global of that name", () => {
  const buffer = Buffer.from("abc");
  ok(buffer instanceof Uint8Array && buffer instanceof Buffer && Buffer.isBuffer(buffer));
  ok(!Buffer.isBuffer(new Uint8Array(1)));
  equal(globalThis.Buffer, Buffer);
  equal(buffer.constructor, Buffer);
  ok(buffer.map((byte) => byte) instanceof Buffer);
  class Own extends Buffer {}
  ok(!(buffer instanceof Own));
});

test("text becomes bytes in each encoding, and text again", () => {
  const cases = [
    ["utf8", "h\u00e9\u20ac\u{1f600}", "104,195,169,226,130,172,240,159,152,128"], ["latin1", "\u00e9\u20ac", "233,172"],
    ["utf16le", "a\u20ac", "97,0,172,32"], ["hex", "00ff7f", "0,255,127"], ["base64", "AP9/", "0,255,127"],
    ["base64url", "-_8", "251,255"], ["ascii", "az", "97,122"],
  ];
  for (const [encoding, text, expected] of cases) {
    equal(bytes(Buffer.from(text, encoding)), expected, encoding);
    if (encoding !== "latin1") equal(Buffer.from(text, encoding).toString(encoding), text, encoding);
  }
  equal(Buffer.from([0xe9, 0x41]).toString("ascii"), "iA");
  equal(Buffer.from([0xff, 0xfe]).toString(), "\ufffd\ufffd");
  equal(Buffer.from("\ud800x").toString("hex"), "efbfbd78");
  equal(Buffer.from("zz", "hex").length, 0);
  equal(Buffer.from("YWJj\nZGVm=ignored", "base64").toString(), "abcdef");
  throws(() => Buffer.from("x", "utf7"), { code: "ERR_UNKNOWN_ENCODING", name: "TypeError" });
});

test("small and large texts are the same whichever way they are made", () => {
  for (const length of [1, 100, 1364, 1365, 1366, 4095, 4096, 4097, 100000]) {
    for (const unit of ["x", "\u00e9", "\u20ac"]) {
      const text = unit.repeat(length);
      const buffer = Buffer.from(text);
      equal(buffer.length, Buffer.byteLength(text));
      ok(buffer.toString() === text, `${unit} ${length}`);
      ok(Buffer.from(buffer.toString("base64"), "base64").equals(buffer));
      ok(Buffer.from(buffer.toString("hex"), "hex").equals(buffer));
    }
  }
});

test("buffers of the pool do not overlap", () => {
  const all = Array.from({ length: 500 }, (_, i) => Buffer.from(`number ${i} \u20ac`));
  all.forEach((buffer, i) => equal(buffer.toString(), `number ${i} \u20ac`));
});

test("from takes arrays, views, array buffers, and objects that stand for text", () => {
  equal(bytes(Buffer.from([1, 256, -1, 2.9, "3"])), "1,0,255,2,3");
  equal(bytes(Buffer.from(new Uint16Array([1, 300]))), "1,44");
  const memory = new ArrayBuffer(4);
  const view = Buffer.from(memory, 1, 2);
  view[0] = 7;
  equal(new Uint8Array(memory)[1], 7);
  equal(bytes(Buffer.from({ type: "Buffer", data: [1, 2] })), "1,2");
  equal(Buffer.from(new String("boxed")).toString(), "boxed");
  equal(Buffer.from({ [Symbol.toPrimitive]: () => "made" }).toString(), "made");
  same(JSON.parse(JSON.stringify(Buffer.from("a"))), { type: "Buffer", data: [97] });
  for (const wrong of [undefined, null, 1, true, Symbol("x"), {}, () => {}]) {
    throws(() => Buffer.from(wrong), { code: "ERR_INVALID_ARG_TYPE" });
  }
  throws(() => Buffer.from(memory, 5), { code: "ERR_BUFFER_OUT_OF_BOUNDS" });
});

test("alloc is zeroed or filled, and sizes are checked", () => {
  equal(bytes(Buffer.alloc(3)), "0,0,0");
  equal(Buffer.alloc(5, "ab").toString(), "ababa");
  equal(bytes(Buffer.alloc(3, 257)), "1,1,1");
  equal(Buffer.allocUnsafe(10).length, 10);
  throws(() => Buffer.alloc(-1), { code: "ERR_OUT_OF_RANGE" });
  throws(() => Buffer.alloc("1"), { code: "ERR_INVALID_ARG_TYPE" });
  throws(() => Buffer.alloc(2, "", "no"), { code: "ERR_UNKNOWN_ENCODING" });
  equal(constants.MAX_LENGTH, kMaxLength);
});

test("searching: text, bytes, numbers, from either end", () => {
  const buffer = Buffer.from("this is a buffer, is it");
  equal(buffer.indexOf("is"), 2);
  equal(buffer.indexOf("is", 3), 5);
  equal(buffer.lastIndexOf("is"), 18);
  equal(buffer.lastIndexOf("is", 17), 5);
  equal(buffer.indexOf(Buffer.from("buffer")), 10);
  equal(buffer.indexOf(97), 8);
  equal(buffer.indexOf("is", -5), 18);
  equal(buffer.includes("nothing"), false);
  equal(buffer.indexOf(""), 0);
  equal(Buffer.from("a\u20acb", "utf16le").indexOf("\u20ac", 0, "utf16le"), 2);
  throws(() => buffer.indexOf({}), { code: "ERR_INVALID_ARG_TYPE" });
  const same = "a".repeat(20000);
  equal(Buffer.from(same).indexOf(`${same}b`), -1);
  equal(Buffer.from(same, "utf16le").indexOf(`${same.slice(1)}b`, 0, "utf16le"), -1);
});

test("numbers are written and read, and checked", () => {
  const buffer = Buffer.alloc(8);
  for (const [name, value] of [
    ["UInt8", 200], ["Int8", -100], ["UInt16LE", 65000], ["UInt16BE", 65000], ["Int16LE", -30000], ["Int16BE", -30000],
    ["UInt32LE", 4e9], ["UInt32BE", 4e9], ["Int32LE", -2e9], ["Int32BE", -2e9], ["FloatLE", 1.5], ["FloatBE", -1.5],
    ["DoubleLE", Math.PI], ["DoubleBE", -Math.E], ["BigUInt64LE", 2n ** 64n - 1n], ["BigInt64BE", -(2n ** 63n)],
  ]) {
    buffer[`write${name}`](value, 0);
    equal(buffer[`read${name}`](0), value, name);
  }
  for (let size = 1; size <= 6; size++) {
    buffer.writeIntBE(-(2 ** (size * 8 - 1)), 1, size);
    equal(buffer.readIntBE(1, size), -(2 ** (size * 8 - 1)), `${size}`);
    buffer.writeUIntLE(2 ** (size * 8) - 2, 1, size);
    equal(buffer.readUIntLE(1, size), 2 ** (size * 8) - 2, `${size}`);
  }
  throws(() => buffer.readUInt32LE(5), { code: "ERR_OUT_OF_RANGE", message: />= 0 and <= 4/ });
  throws(() => buffer.writeUInt8(256, 0), { code: "ERR_OUT_OF_RANGE" });
  throws(() => buffer.readInt8("0"), { code: "ERR_INVALID_ARG_TYPE" });
  throws(() => buffer.readInt8(0.5), { code: "ERR_OUT_OF_RANGE", message: /an integer/ });
});

test("copy, fill, concat, compare, slices", () => {
  const buffer = Buffer.from("abcdef");
  equal(buffer.copy(buffer, 2, 0, 4), 4);
  equal(buffer.toString(), "ababcd");
  equal(Buffer.alloc(7).fill("h\u00e9").toString("hex"), "68c3a968c3a968");
  equal(Buffer.concat([Buffer.from("ab"), new Uint8Array([99])], 5).toString("latin1"), "abc\0\0");
  throws(() => Buffer.concat([1]), { code: "ERR_INVALID_ARG_TYPE" });
  equal(Buffer.compare(Buffer.from("a"), Buffer.from("b")), -1);
  equal(Buffer.from("xbc").compare(Buffer.from("abc"), 1, 3, 1, 3), 0);
  const part = buffer.subarray(-3, -1);
  part[0] = 0x7a;
  equal(buffer.toString(), "abazcd");
  equal(bytes(Buffer.from([1, 2, 3, 4]).swap16()), "2,1,4,3");
  throws(() => Buffer.alloc(3).swap16(), { code: "ERR_INVALID_BUFFER_SIZE" });
  equal(Buffer.alloc(3).write("\u20ac\u20ac"), 3);
  equal(Buffer.alloc(4).write("\u20ac\u20ac"), 3);
});

test("isUtf8, isAscii, transcode", () => {
  ok(isUtf8(Buffer.from("\u20ac")) && !isUtf8(new Uint8Array([0x80])) && isAscii(Buffer.from("a")));
  equal(transcode(Buffer.from("\u20ac"), "utf8", "ascii").toString(), "?");
  equal(transcode(Buffer.from("\u00e9"), "utf8", "latin1").toString("hex"), "e9");
});

test("natives take whatever an app puts in their way", () => {
  const buffer = Buffer.from("some bytes that are here");
  for (const value of [NaN, Infinity, -Infinity, -1, 2 ** 53, 1e300, {}, "x", null, { valueOf: () => 3 }]) {
    for (const call of [
      () => buffer.toString("hex", value, value), () => buffer.fill("ab", value, value), () => buffer.write("x", value, value),
      () => buffer.copy(buffer, value, value, value), () => buffer.indexOf("s", value), () => buffer.lastIndexOf("s", value),
      () => buffer.compare(buffer, value, value, value, value), () => buffer.hexSlice(value, value),
      () => buffer.utf8Write("x", value, value), () => buffer.subarray(value, value),
    ]) {
      try {
        call();
      } catch (error) {
        ok(error instanceof Error);
      }
    }
  }
  const detached = Buffer.from(new ArrayBuffer(8));
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  equal(detached.toString(), "");
  throws(() => detached.fill(1), { name: "TypeError" });
});

test("concat counts bytes, not what a property says", () => {
  const view = new Uint8Array([1, 2]);
  Object.defineProperty(view, "length", { get: () => 100 });
  equal(bytes(Buffer.concat([view, Buffer.from([3])])), "1,2,3");
  throws(() => Buffer.concat([view, "x"]), { code: "ERR_INVALID_ARG_TYPE" });
});

test("the constructor warns once", async () => {
  const seen = [];
  const listen = (warning) => seen.push(warning.code);
  process.on("warning", listen);
  equal(new Buffer("a").length + Buffer(3).length, 4);
  await new Promise((resolve) => setTimeout(resolve));
  process.off("warning", listen);
  equal(seen.filter((code) => code === "DEP0005").length, 1);
});
