// What the apps of these tests talk to.
const answers = {
  "/hello": () => new Response("hello", { headers: { "x-backend": "yes" } }),
  "/echo": async (request) => Response.json({
    method: request.method,
    type: request.headers.get("content-type"),
    custom: request.headers.get("x-custom"),
    body: await request.text(),
  }),
  "/stream": (request) => new Response(request.body),
  "/count": async (request) => {
    let chunks = 0;
    for await (const _ of request.body) chunks++;
    return new Response(`${chunks > 0}`);
  },
  "/redirect": (request) => Response.redirect(new URL(request.url).searchParams.get("to"), 302),
  "/see_other": (request) => new Response(null, { status: 303, headers: { location: "/echo" } }),
  "/keep": (request) => new Response(null, { status: 307, headers: { location: "/echo" } }),
  "/loop": () => new Response(null, { status: 302, headers: { location: "/loop" } }),
  "/missing": () => new Response("not here", { status: 404, statusText: "Not Here" }),
  "/cookies": () => new Response("", { headers: [["set-cookie", "a=1"], ["set-cookie", "b=2"]] }),
  "/large": () => new Response("x".repeat(3 << 20)),
};
export default { fetch: (request) => answers[new URL(request.url).pathname](request) };
