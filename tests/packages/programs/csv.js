// papaparse, csv-parse and csv-stringify: tables, streams and types.
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { parse } from "csv-parse";
import { parse as parseSync } from "csv-parse/sync";
import { stringify } from "csv-stringify/sync";
import Papa from "papaparse";
import { program } from "../program.js";

const table = 'name,n,note\r\nAda,36,"a ""quoted"", text"\r\nBo,7,"two\nlines"\r\n';

export default program(async (same) => {
  const rows = [{ name: "Ada", n: 36, note: 'a "quoted", text' }, { name: "Bo", n: 7, note: "two\nlines" }];
  const parsed = Papa.parse(table, { header: true, dynamicTyping: true, skipEmptyLines: true });
  same("papaparse", [parsed.data, parsed.errors], [rows, []]);
  same("unparse", Papa.unparse([["a", "b,c"], [1, null]]), 'a,"b,c"\r\n1,');
  same("csv-parse", parseSync(table, { columns: true, cast: (value, { column }) => (column === "n" ? Number(value) : value) }), rows);
  const seen = [];
  await pipeline(Readable.from([table.slice(0, 30), table.slice(30)]), parse({ from_line: 2 }), async function (records) {
    for await (const record of records) seen.push(record[0]);
  });
  same("stream", seen, ["Ada", "Bo"]);
  same("csv-stringify", stringify([{ a: 1, b: "x,y" }], { header: true }), 'a,b\n1,"x,y"\n');
});
