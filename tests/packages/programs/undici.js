// undici: request, fetch, pools and form data.
import { FormData, Pool, fetch, request } from "undici";
import { program } from "../program.js";

export default program(
  async (same, origin) => {
    const { statusCode, headers, body } = await request(`${origin}/echo?a=1`, { method: "POST", body: '{"x":1}', headers: { "content-type": "application/json" } });
    same("request", [statusCode, headers["x-served"], await body.json()], [200, "yes", { method: "POST", query: "?a=1", body: '{"x":1}' }]);
    same("fetch", (await (await fetch(`${origin}/echo`)).json()).method, "GET");
    const form = new FormData();
    form.set("name", "Ada");
    same("form", (await (await fetch(`${origin}/echo`, { method: "POST", body: form })).json()).body.includes("Ada"), true);
    const pool = new Pool(origin, { connections: 2 });
    const replies = await Promise.all([1, 2, 3].map((n) => pool.request({ path: `/echo?n=${n}`, method: "GET" }).then(({ body }) => body.json())));
    same("pool", replies.map((reply) => reply.query), ["?n=1", "?n=2", "?n=3"]);
    await pool.close();
  },
  async (request, url) => Response.json({ method: request.method, query: url.search, body: await request.text() }, { headers: { "x-served": "yes" } }),
);
