// itty-router: AutoRouter with middleware, errors and CORS.
import { AutoRouter, cors, error, withContent } from "itty-router";
import { program } from "../program.js";

const { preflight, corsify } = cors({ origin: "*" });
const router = AutoRouter({ before: [preflight], finally: [corsify] });
router
  .get("/users/:id", ({ id, query }) => ({ id, query }))
  .post("/items", withContent, ({ content }) => (content.name ? { made: content.name } : error(422, "no name")))
  .get("/files/:path+", ({ params }) => params.path);

export default program(async (same) => {
  const ask = (path, options) => router.fetch(new Request(`http://test${path}`, options));
  same("json", await (await ask("/users/7?a=1&a=2")).json(), { id: "7", query: { a: ["1", "2"] } });
  same("greedy", await (await ask("/files/a/b")).json(), "a/b");
  const made = (name) => ask("/items", { method: "POST", body: JSON.stringify({ name }), headers: { "content-type": "application/json" } });
  same("content", await (await made("x")).json(), { made: "x" });
  const failed = await made("");
  same("error", [failed.status, await failed.json()], [422, { status: 422, error: "no name" }]);
  same("missing", (await ask("/none")).status, 404);
  const asked = await ask("/x", { method: "OPTIONS", headers: { origin: "http://a" } });
  same("preflight", [asked.status, asked.headers.get("access-control-allow-origin")], [204, "*"]);
});
