// superagent: queries, bodies, retries, uploads and errors over node:http.
import superagent from "superagent";
import { program } from "../program.js";

export default program(
  async (same, origin) => {
    const got = await superagent.get(`${origin}/echo`).query({ a: 1 }).set("x-a", "b").accept("json");
    same("get", [got.status, got.body], [200, { method: "GET", query: "?a=1", body: "", a: "b" }]);
    same("post", (await superagent.post(`${origin}/echo`).send({ x: 1 })).body.body, '{"x":1}');
    same("form", (await superagent.post(`${origin}/echo`).type("form").send({ x: "y z" })).body.body, "x=y%20z");
    const upload = await superagent.post(`${origin}/echo`).field("name", "Ada").attach("file", Buffer.from("bytes"), "a.txt");
    same("upload", upload.body.body.includes('filename="a.txt"'), true);
    const failed = await superagent.get(`${origin}/missing`).catch((error) => error);
    same("error", [failed.status, failed.response.text], [404, "no"]);
  },
  async (request, url) => {
    if (url.pathname === "/missing") return new Response("no", { status: 404 });
    return Response.json({ method: request.method, query: url.search, body: await request.text(), a: request.headers.get("x-a") });
  },
);
