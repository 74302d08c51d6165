// got: JSON, hooks, retries, streams, cookies and pagination, against itself.
import got from "got";
import { program, text } from "../program.js";

let tries = 0;

export default program(
  async (same, origin) => {
    const client = got.extend({ prefixUrl: origin, headers: { "x-client": "yes" }, retry: { limit: 2, calculateDelay: ({ computedValue }) => (computedValue ? 1 : 0) } });
    same("json", await client("echo", { searchParams: { a: 1 } }).json(), { method: "GET", query: "?a=1", body: "", client: "yes" });
    const posted = await client.post("echo", { json: { a: 1 } }).json();
    same("post", [posted.method, posted.body], ["POST", '{"a":1}']);
    const failed = await client("status/404").catch((error) => error);
    same("error", [failed.name, failed.response.statusCode], ["HTTPError", 404]);
    same("retried", [await client("flaky").text(), tries], ["third", 3]);
    same("stream", await text(client.stream("text")), "a text");
    const redirected = await client("moved");
    same("redirect", [redirected.body, redirected.redirectUrls.length], ["a text", 1]);
    const pages = await client.paginate.all("page", { searchParams: { n: 1 }, pagination: { transform: (reply) => JSON.parse(reply.body), paginate: ({ currentItems, response }) => (response.url.endsWith("n=3") ? false : { searchParams: { n: Number(new URL(response.url).searchParams.get("n")) + 1 } }) } });
    same("pages", pages, [1, 2, 3]);
  },
  async (request, url) => {
    if (url.pathname.startsWith("/status/")) return new Response("", { status: 404 });
    if (url.pathname === "/flaky") return ++tries < 3 ? new Response("", { status: 503 }) : new Response("third");
    if (url.pathname === "/text") return new Response("a text");
    if (url.pathname === "/moved") return new Response(null, { status: 302, headers: { location: "/text" } });
    if (url.pathname === "/page") return Response.json([Number(url.searchParams.get("n"))]);
    return Response.json({ method: request.method, query: url.search, body: await request.text(), client: request.headers.get("x-client") });
  },
);
