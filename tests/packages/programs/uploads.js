// busboy, formidable and form-data: multipart bodies parsed from streams.
import { PassThrough, Readable } from "node:stream";
import busboy from "busboy";
import FormData from "form-data";
import { program, text } from "../program.js";

function body() {
  const form = new FormData();
  form.append("title", "caf\u00e9");
  form.append("file", Buffer.from("x".repeat(100_000)), { filename: "a.txt", contentType: "text/plain" });
  return form;
}

export default program(async (same) => {
  const form = body();
  const parser = busboy({ headers: form.getHeaders(), limits: { fileSize: 60_000 }, defParamCharset: "utf8" });
  const seen = {};
  parser.on("field", (name, value) => (seen[name] = value));
  parser.on("file", async (name, stream, info) => (seen[name] = [info.filename, info.mimeType, (await text(stream)).length, stream.truncated]));
  const closed = new Promise((resolve, reject) => parser.on("close", resolve).on("error", reject));
  form.pipe(parser);
  await closed;
  await new Promise(setImmediate);
  same("busboy", seen, { title: "caf\u00e9", file: ["a.txt", "text/plain", 60_000, true] });
  const plain = busboy({ headers: { "content-type": "application/x-www-form-urlencoded" } });
  const fields = [];
  plain.on("field", (name, value) => fields.push([name, value]));
  const ended = new Promise((resolve) => plain.on("close", resolve));
  Readable.from(["a=1&b", "=x%20y"]).pipe(plain);
  await ended;
  same("form", fields, [["a", "1"], ["b", "x y"]]);
  same("length", await new Promise((resolve, reject) => body().getLength((error, length) => (error ? reject(error) : resolve(length > 100_000)))), true);
  same("buffer", body().getBuffer().includes('name="title"'), true);
  same("as a stream", (await text(body().pipe(new PassThrough()))).length > 100_000, true);
});
