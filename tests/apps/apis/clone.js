import { assert, equal, throws } from "./assert.js";

export function collections() {
  const map = structuredClone(new Map([["a", new Set([1, 2])]]));
  assert(map instanceof Map && map.get("a").has(2));
  const date = structuredClone(new Date(5));
  equal([date instanceof Date, date.getTime()], [true, 5]);
  const regex = structuredClone(/a+/gi);
  equal([regex.source, regex.flags], ["a+", "gi"]);
  equal(structuredClone([1, "x", null, undefined, true, 10n].map(typeof_)), ["number", "string", "object", "undefined", "boolean", "bigint"]);
  equal(structuredClone(10n), 10n);
}

const typeof_ = (value) => typeof value;

export function typed_arrays() {
  const bytes = new Uint8Array([1, 2, 3]);
  const copy = structuredClone(bytes);
  copy[0] = 9;
  equal([...bytes, ...copy], [1, 2, 3, 9, 2, 3]);
  equal(structuredClone(new Float64Array([1.5]))[0], 1.5);
}

export function circles() {
  const object = { name: "o" };
  object.self = object;
  object.list = [object];
  const copy = structuredClone(object);
  assert(copy !== object && copy.self === copy && copy.list[0] === copy);
}

export function errors() {
  const copy = structuredClone(new RangeError("bad", { cause: 5 }));
  assert(copy instanceof RangeError);
  equal([copy.name, copy.message], ["RangeError", "bad"]);
}

export async function what_cannot_be_cloned() {
  await throws("DataCloneError", () => structuredClone(() => {}));
  await throws("DataCloneError", () => structuredClone(Symbol("x")));
  await throws("DataCloneError", () => structuredClone({ nested: { f() {} } }));
}

export function transfers() {
  const buffer = new ArrayBuffer(8);
  const moved = structuredClone(buffer, { transfer: [buffer] });
  equal([buffer.byteLength, moved.byteLength], [0, 8]);
}
