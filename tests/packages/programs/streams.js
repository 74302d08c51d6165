// readable-stream, through2, concat-stream and safe-buffer.
import concat from "concat-stream";
import rs from "readable-stream";
import safe from "safe-buffer";
import through2 from "through2";
import iconv from "iconv-lite";
import { program, text } from "../program.js";

const { finished, pipeline, Readable, Transform, Writable } = rs;

export default program(async (same) => {
  const upper = new Transform({ transform: (chunk, _, done) => done(null, String(chunk).toUpperCase()) });
  let written = "";
  const sink = new Writable({ write: (chunk, _, done) => ((written += chunk), done()) });
  await new Promise((resolve, reject) => pipeline(Readable.from(["a", "b"]), upper, sink, (error) => (error ? reject(error) : resolve())));
  same("pipeline", written, "AB");
  const failed = new Readable({ read() { this.destroy(new Error("broken")); } });
  same("finished", await new Promise((resolve) => (finished(failed, (error) => resolve(error.message)), failed.resume())), "broken");
  const doubled = through2.obj(function (n, _, done) {
    this.push(n);
    done(null, n);
  });
  doubled.write(1);
  doubled.end(2);
  const numbers = [];
  for await (const n of doubled) numbers.push(n);
  same("through2", numbers, [1, 1, 2, 2]);
  same("concat-stream", await new Promise((resolve) => Readable.from([Buffer.from("x"), Buffer.from("y")]).pipe(concat((all) => resolve(all.toString())))), "xy");
  same("safe-buffer", [safe.Buffer.from("aGk=", "base64").toString(), safe.Buffer.alloc(2, 1)[1]], ["hi", 1]);
  same("iconv-lite", [iconv.decode(Buffer.from([0xe9, 0x80]), "win1252"), [...iconv.encode("\u3042", "shift_jis")], iconv.decode(Buffer.from("fffe6100", "hex"), "utf16")], ["\u00e9\u20ac", [0x82, 0xa0], "a"]);
  const decoder = iconv.decodeStream("latin1");
  decoder.write(Buffer.from([0xe9]));
  decoder.end();
  same("decoded stream", await text(decoder), "\u00e9");
});
