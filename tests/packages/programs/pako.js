// pako: deflate, gzip and chunks, read by the runtime's own streams.
import * as pako from "pako";
import { failure, program } from "../program.js";

export default program(async (same) => {
  const data = new TextEncoder().encode("squeeze me ".repeat(500));
  const packed = pako.gzip(data);
  same("smaller", packed.length < 200, true);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  same("read by the runtime", (await new Response(stream).text()).length, data.length);
  same("inflate", pako.inflate(pako.deflate(data), { to: "string" }).length, data.length);
  same("raw", pako.inflateRaw(pako.deflateRaw(data)).length, data.length);
  const inflator = new pako.Inflate({ to: "string" });
  for (let at = 0; at < packed.length; at += 16) inflator.push(packed.subarray(at, at + 16));
  same("chunks", inflator.result.length, data.length);
  same("malformed", String(await failure(() => { try { pako.inflate(new Uint8Array([1, 2, 3])); } catch (error) { throw new Error(error.message ?? error); } })), "incorrect header check");
});
