// jszip and fflate: archives there and back, one read by the other.
import { PassThrough } from "node:stream";
import { gunzipSync, gzipSync, strFromU8, strToU8, unzipSync, zipSync, Zip, ZipDeflate } from "fflate";
import JSZip from "jszip";
import { program, text } from "../program.js";

export default program(async (same) => {
  const zip = new JSZip();
  zip.file("a.txt", "hello ".repeat(100));
  zip.folder("sub").file("b.bin", new Uint8Array([1, 2, 3]));
  const bytes = await zip.generateAsync({ type: "uint8array", compression: "DEFLATE" });
  const entries = unzipSync(bytes);
  same("read by fflate", [Object.keys(entries), strFromU8(entries["a.txt"]).length, [...entries["sub/b.bin"]]], [["a.txt", "sub/", "sub/b.bin"], 600, [1, 2, 3]]);
  const back = await JSZip.loadAsync(zipSync({ "c.txt": strToU8("caf\u00e9"), d: { "e.txt": strToU8("deep") } }));
  same("read by jszip", [await back.file("c.txt").async("string"), Object.keys(back.files)], ["caf\u00e9", ["c.txt", "d/", "d/e.txt"]]);
  same("node buffer", (await zip.generateAsync({ type: "nodebuffer" })).subarray(0, 2).toString(), "PK");
  const stream = zip.generateNodeStream();
  same("node stream", (await text(stream.pipe(new PassThrough()))).startsWith("PK"), true);
  same("gzip", strFromU8(gunzipSync(gzipSync(strToU8("later")))), "later");
  const parts = [];
  await new Promise((resolve, reject) => {
    const streamed = new Zip((error, data, final) => (error ? reject(error) : (parts.push(...data), final && resolve())));
    const file = new ZipDeflate("x.txt", { level: 9 });
    streamed.add(file);
    file.push(strToU8("streamed"), true);
    streamed.end();
  });
  same("streamed", strFromU8(unzipSync(new Uint8Array(parts))["x.txt"]), "streamed");
});
