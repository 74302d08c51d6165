// node:v8: https://nodejs.org/api/v8.html
import v8 from "node:v8";
import { equal, ok, same, test, throws } from "./harness.js";

export { default } from "./harness.js";

const everything = () => ({
  text: "h\u00e9\u20ac", number: -0, big: 2n ** 70n, date: new Date(5), map: new Map([[1, { a: [1, , 3] }]]), set: new Set(["x"]),
  pattern: /a/gi, error: new RangeError("no"), bytes: Buffer.from("small, of the pool"), floats: new Float64Array([1.5, NaN]),
  view: new DataView(new ArrayBuffer(3)), bigs: new BigInt64Array([-1n]), memory: new ArrayBuffer(4), boxed: Object("b"),
});

test("values come back as they were", () => {
  const value = everything();
  value.self = value;
  const copy = v8.deserialize(v8.serialize(value));
  equal(copy.self, copy);
  delete copy.self;
  delete value.self;
  same(copy, value);
  ok(copy.bytes instanceof Buffer && copy.bytes.buffer.byteLength < 100);
  ok(copy.floats instanceof Float64Array && copy.view instanceof DataView);
});

test("bytes are those that Node writes", () => {
  equal(v8.serialize({ b: Buffer.from("hey"), c: new Int16Array([5]) }).toString("hex"),
    "ff0f6f2201625c0a036865792201635c030205007b02");
});

test("what cannot be serialized throws", () => {
  throws(() => v8.serialize(() => {}), { name: "DataCloneError" });
  throws(() => v8.serialize(Symbol("x")), { name: "DataCloneError" });
  throws(() => v8.deserialize("text"), { code: "ERR_INVALID_ARG_TYPE" });
});

test("bytes that nothing serialized are refused, whatever they say", () => {
  const valid = v8.serialize(everything());
  for (const bad of [[], [1, 2, 3], [255, 15], [255, 15, 92, 10, 255, 255, 255, 255, 15], [255, 15, 92, 3, 3, 1, 2, 3],
    [255, 15, 92, 99, 0], [255, 15, 65, 255, 255, 255, 255, 15], [255, 15, 117, 0], [255, 15, 119, 0], [255, 15, 116, 0]]) {
    throws(() => v8.deserialize(Uint8Array.from(bad)), { name: "Error" });
  }
  let seed = 1;
  const random = (below) => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % below;
  for (let round = 0; round < 3000; round++) {
    const bytes = Uint8Array.from(valid.subarray(0, random(2) ? valid.length : random(valid.length)));
    for (let i = random(6); i >= 0 && bytes.length > 2; i--) bytes[2 + random(bytes.length - 2)] = random(256);
    try {
      v8.deserialize(bytes);
    } catch (error) {
      ok(error instanceof Error, String(error));
    }
  }
});

test("numbers of the heap, and what is not for apps", () => {
  const { used_heap_size, heap_size_limit } = v8.getHeapStatistics();
  ok(used_heap_size > 0 && heap_size_limit > used_heap_size);
  throws(() => v8.writeHeapSnapshot(), { message: /v8\.writeHeapSnapshot is not available in Hearth/ });
});

test("no snapshot is being built", () => {
  equal(v8.startupSnapshot.isBuildingSnapshot(), false);
  throws(() => v8.startupSnapshot.addSerializeCallback(() => {}), { code: "ERR_NOT_BUILDING_SNAPSHOT" });
});
