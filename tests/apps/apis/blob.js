import { assert, equal } from "./assert.js";

export async function parts_and_slices() {
  const blob = new Blob(["ab", new Uint8Array([99, 100]), new Blob(["ef"])], { type: "Text/Plain" });
  equal([blob.size, blob.type, await blob.text()], [6, "text/plain", "abcdef"]);
  equal(await blob.slice(1, 4).text(), "bcd");
  equal(await blob.slice(-2).text(), "ef");
  equal(await blob.slice(4, 2).text(), "");
  equal(blob.slice(0, 1, "x/y").type, "x/y");
  equal([...new Uint8Array(await blob.arrayBuffer())], [97, 98, 99, 100, 101, 102]);
  equal(await new Response(blob.stream()).text(), "abcdef");
}

export async function files() {
  const file = new File(["x"], "a.txt", { lastModified: 5 });
  assert(file instanceof Blob);
  equal([file.name, file.lastModified, file.size, await file.text()], ["a.txt", 5, 1, "x"]);
  assert(!(file.slice(0, 1) instanceof File));
}
