// node-fetch and form-data: requests over node:http, redirects, streams and forms.
import FormData from "form-data";
import fetch, { Headers } from "node-fetch";
import { program, text } from "../program.js";

export default program(
  async (same, origin) => {
    const reply = await fetch(`${origin}/echo`, { method: "POST", body: "hello", headers: new Headers({ "x-a": "b" }) });
    same("post", [reply.status, await reply.json()], [200, { method: "POST", body: "hello", a: "b" }]);
    same("redirect", await (await fetch(`${origin}/moved`)).text(), "a text");
    same("stream", await text((await fetch(`${origin}/text`)).body), "a text");
    const form = new FormData();
    form.append("file", Buffer.from("bytes"), { filename: "a.txt", contentType: "text/plain" });
    const sent = await (await fetch(`${origin}/form`, { method: "POST", body: form })).json();
    same("form", sent, { name: "a.txt", text: "bytes" });
    const failed = await fetch("http://127.0.0.1:1/").catch((error) => error);
    same("refused", failed.name, "FetchError");
  },
  async (request, url) => {
    if (url.pathname === "/moved") return new Response(null, { status: 301, headers: { location: "/text" } });
    if (url.pathname === "/text") return new Response("a text");
    if (url.pathname === "/form") {
      const file = (await request.formData()).get("file");
      return Response.json({ name: file.name, text: await file.text() });
    }
    return Response.json({ method: request.method, body: await request.text(), a: request.headers.get("x-a") });
  },
);
