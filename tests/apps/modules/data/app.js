import json from "./data.json";
import typed from "./data.json" with { type: "json" };
import text from "./note.txt";
import page from "./page.html" with { type: "text" };
import source from "./code.js" with { type: "text" };
import bytes from "./raw.bin";
import more from "./note.txt" with { type: "bytes" };
import wasm from "./add.wasm";
export default {
  fetch: () => new Response([
    json.list[1], typed.name, text.trim(), page.trim(), source.trim(), bytes instanceof Uint8Array && [...bytes].join("-"), more.length,
    wasm instanceof WebAssembly.Module, new WebAssembly.Instance(wasm).exports.add(40, 2),
  ].join()),
};
