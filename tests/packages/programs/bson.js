// bson: documents there and back.
import { Binary, BSON, Decimal128, EJSON, Long, ObjectId, UUID } from "bson";
import { program } from "../program.js";

export default program((same) => {
  const id = new ObjectId("65a000000000000000000001");
  const bytes = BSON.serialize({ id, n: 1, big: Long.fromString("9007199254740993"), at: new Date(5), text: "caf\u00e9", list: [1, null], bin: new Binary(new Uint8Array([1, 2])), d: Decimal128.fromString("1.5") });
  const back = BSON.deserialize(bytes, { promoteLongs: false });
  same("back", [back.id.toHexString(), back.n.value ?? back.n, back.big.toString(), back.at.getTime(), back.text, back.list.length, back.d.toString()], ["65a000000000000000000001", 1, "9007199254740993", 5, "caf\u00e9", 2, "1.5"]);
  same("binary", [...back.bin.buffer.subarray(0, 2)], [1, 2]);
  same("time", id.getTimestamp().toISOString(), "2024-01-11T14:49:36.000Z");
  same("json", EJSON.stringify({ id, at: new Date(0) }), '{"id":{"$oid":"65a000000000000000000001"},"at":{"$date":"1970-01-01T00:00:00Z"}}');
  same("uuid", new UUID("123e4567-e89b-12d3-a456-426614174000").toBinary().sub_type, 4);
});
