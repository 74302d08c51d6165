// msgpackr, cbor-x, protobufjs, avsc and flatted.
import avro from "avsc";
import * as cbor from "cbor-x";
import { parse as unflatten, stringify as flatten } from "flatted";
import { pack, Packr, unpack } from "msgpackr";
import protobuf from "protobufjs";
import { program } from "../program.js";

const value = { n: -1, big: 2 ** 40, text: "caf\u00e9", list: [1.5, null, true], bytes: new Uint8Array([1, 2]) };

export default program((same) => {
  same("msgpackr", [unpack(pack(value)), [...pack([1, "a"])]], [value, [0x92, 1, 0xa1, 0x61]]);
  same("records", new Packr({ structuredClone: true }).unpack(new Packr({ structuredClone: true }).pack(new Map([["a", new Date(0)]]))), [["a", "1970-01-01T00:00:00.000Z"]]);
  same("cbor-x", [cbor.decode(cbor.encode(value)).text, [...cbor.encode([1, 2])]], ["caf\u00e9", [0x82, 1, 2]]);
  const { root } = protobuf.parse('syntax = "proto3"; message User { string name = 1; repeated int32 n = 2; map<string, int64> m = 3; oneof x { bool a = 4; bytes b = 5; } }');
  const User = root.lookupType("User");
  const encoded = User.encode(User.create({ name: "Ada", n: [1, 300], m: { k: 5 }, b: new Uint8Array([9]) })).finish();
  same("protobufjs", User.toObject(User.decode(encoded), { longs: String, bytes: Array }), { name: "Ada", n: [1, 300], m: { k: "5" }, b: [9] });
  same("verify", User.verify({ name: 1 }), "name: string expected");
  const type = avro.Type.forSchema({ type: "record", name: "P", fields: [{ name: "kind", type: { type: "enum", name: "K", symbols: ["CAT", "DOG"] } }, { name: "age", type: ["null", "int"], default: null }] });
  const buffer = type.toBuffer({ kind: "DOG", age: 3 });
  same("avsc", [[...buffer], type.fromBuffer(buffer).kind, type.isValid({ kind: "COW" })], [[2, 2, 6], "DOG", false]);
  const loop = { a: 1 };
  loop.self = loop;
  same("flatted", unflatten(flatten(loop)).self.self.a, 1);
});
