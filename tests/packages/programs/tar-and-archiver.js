// tar-stream and archiver with node:zlib: a tape of files, compressed and read back.
import { createGunzip, createGzip } from "node:zlib";
import { PassThrough } from "node:stream";
import * as archiverModule from "archiver";
import tar from "tar-stream";
import { program, text } from "../program.js";

const entries = async (extract) => {
  const seen = {};
  for await (const entry of extract) seen[entry.header.name] = await text(entry);
  return seen;
};

export default program(async (same) => {
  const pack = tar.pack();
  pack.entry({ name: "a.txt", mtime: new Date(0) }, "one");
  pack.entry({ name: `${"long/".repeat(30)}b.txt` }, "x".repeat(2000));
  pack.finalize();
  const seen = await entries(pack.pipe(createGzip()).pipe(createGunzip()).pipe(tar.extract()));
  same("tar", [Object.keys(seen).length, seen["a.txt"], seen[`${"long/".repeat(30)}b.txt`].length], [2, "one", 2000]);
  const make = (format) => {
    const archiver = archiverModule.default ?? archiverModule.archiver;
    if (archiver) return archiver(format, { zlib: { level: 9 } });
    return format === "zip" ? new archiverModule.ZipArchive({ zlib: { level: 9 } }) : new archiverModule.TarArchive();
  };
  const tape = make("tar");
  tape.append("text", { name: "x.txt" });
  tape.append(Buffer.from("bytes"), { name: "d/y.bin" });
  tape.finalize();
  same("archiver's tar", await entries(tape.pipe(tar.extract())), { "x.txt": "text", "d/y.bin": "bytes" });
  const zip = make("zip");
  zip.append("text", { name: "x.txt" });
  zip.finalize();
  same("archiver's zip", (await text(zip.pipe(new PassThrough()))).startsWith("PK\u0003\u0004"), true);
});
