// ofetch and cross-fetch: hooks, parsing and errors over fetch.
import crossFetch from "cross-fetch";
import { FetchError, ofetch } from "ofetch";
import { program } from "../program.js";

export default program(
  async (same, origin) => {
    const api = ofetch.create({ baseURL: origin, onRequest: ({ options }) => options.headers.set("x-a", "b") });
    same("json", await api("/echo", { method: "POST", body: { x: 1 }, query: { q: "y z" } }), { method: "POST", query: "?q=y+z", body: '{"x":1}', a: "b" });
    const failed = await api("/missing", { retry: 0 }).catch((error) => error);
    same("error", [failed instanceof FetchError, failed.status, failed.data], [true, 404, { why: "no" }]);
    const raw = await ofetch.raw(`${origin}/echo`);
    same("raw", [raw.status, raw._data.method], [200, "GET"]);
    same("cross-fetch", (await (await crossFetch(`${origin}/echo`)).json()).method, "GET");
  },
  async (request, url) => {
    if (url.pathname === "/missing") return Response.json({ why: "no" }, { status: 404 });
    return Response.json({ method: request.method, query: url.search, body: await request.text(), a: request.headers.get("x-a") });
  },
);
