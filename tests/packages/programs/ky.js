// ky: JSON, hooks, retries and errors, against itself.
import ky from "ky";
import { program } from "../program.js";

let tries = 0;

export default program(
  async (same, origin) => {
    const hooks = { beforeRequest: [(first, second) => (first.request ?? first).headers.set("x-hook", "ran")] };
    const client = ky.create({ prefixUrl: origin, prefix: origin, hooks, retry: { limit: 2, delay: () => 1 } });
    same("json", await client.post("echo", { json: { a: 1 } }).json(), { method: "POST", body: '{"a":1}', hook: "ran" });
    const failed = await client("status").catch((error) => error);
    same("error", [failed.name, failed.response.status], ["HTTPError", 404]);
    same("retried", [await client("flaky").text(), tries], ["done", 2]);
  },
  async (request, url) => {
    if (url.pathname === "/status") return new Response("", { status: 404 });
    if (url.pathname === "/flaky") return ++tries < 2 ? new Response("", { status: 503 }) : new Response("done");
    return Response.json({ method: request.method, body: await request.text(), hook: request.headers.get("x-hook") });
  },
);
