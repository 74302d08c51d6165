// formidable: a multipart request of a Node server, with a file written to its temporary folder.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import formidable from "formidable";
import { answer } from "../program.js";

createServer(async (request, response) => {
  if (request.url === "/") return response.end(await answer(run, `http://${request.headers.host}`));
  const [fields, files] = await formidable({ maxFileSize: 200_000 }).parse(request);
  const [file] = files.file;
  response.end(JSON.stringify({ fields, name: file.originalFilename, size: file.size, text: (await readFile(file.filepath, "utf8")).slice(0, 5) }));
}).listen(process.env.PORT ?? 3000);

async function run(same, origin) {
  const form = new FormData();
  form.set("title", "x");
  form.set("file", new File(["hello ".repeat(10_000)], "a.txt"));
  const reply = await fetch(`${origin}/upload`, { method: "POST", body: form });
  same("upload", await reply.json(), { fields: { title: ["x"] }, name: "a.txt", size: 60_000, text: "hello" });
}
