// pg: parsing of types and escaping; connections are a matter of their own test.
import pg from "pg";
import arrays from "postgres-array";
import { program } from "../program.js";

export default program(async (same) => {
  const client = new pg.Client({ connectionString: "postgres://ada:secret@localhost:5999/app?application_name=x" });
  same("parameters", [client.user, client.database, client.port, client.connectionParameters.application_name], ["ada", "app", 5999, "x"]);
  same("identifier", pg.escapeIdentifier('a"b'), '"a""b"');
  same("literal", pg.escapeLiteral("it's \\"), " E'it''s \\\\'");
  same("int", pg.types.getTypeParser(23)("7"), 7);
  same("bool", pg.types.getTypeParser(16)("t"), true);
  same("date", pg.types.getTypeParser(1184)("2024-01-02 03:04:05+00"), "2024-01-02T03:04:05.000Z");
  same("bytea", pg.types.getTypeParser(17)("\\x0102"), new Uint8Array([1, 2]));
  same("json", pg.types.getTypeParser(114)('{"a":1}'), { a: 1 });
  same("array", arrays.parse('{1,{2,NULL},"a b"}', (value) => value), ["1", ["2", null], "a b"]);
});
