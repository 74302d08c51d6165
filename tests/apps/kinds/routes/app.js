// Routes of all kinds, and a fetch for what they do not answer.
const json = (value, init) => Response.json(value, init);
const pieces = ["one ", "two ", "three"];
let made = 0;

export default {
  greeting: "from the default export",
  routes: {
    "/": new Response("root"),
    "/plain": new Response("always the same", { status: 201, headers: { "x-kind": "fixed" } }),
    "/json": Response.json({ fixed: true }),
    "/empty": new Response(null, { status: 204 }),
    "/bytes": new Response(new Uint8Array([0, 1, 254, 255])),
    "/streamed": new Response(new ReadableStream({
      pull(controller) {
        const piece = pieces.shift();
        if (piece === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(piece));
      },
    })),
    "/blob": new Blob(["<b>blob</b>"], { type: "text/html" }),
    "/count": () => new Response(`${++made}`),
    "/handler": async (request, env, ctx) => {
      await null;
      ctx.waitUntil(Promise.resolve());
      return json([request.method, Object.keys(env), typeof ctx.waitUntil, Object.keys(request.params)]);
    },
    "/this"() {
      return new Response(this.greeting);
    },
    "/throws": () => { throw new Error("in a route"); },
    "/users/:id": (request) => json(request.params),
    "/users/new": new Response("exact"),
    "/users/:id/posts/:post": (request) => json(request.params),
    "/users/*": new Response("the rest of users"),
    "/:kind/best": (request) => json(request.params),
    "/files/*/raw": new Response("one in between"),
    "/grüße/:name": (request) => json(request.params),
    "/frozen/:id": ({ params }) => json([
      Object.isFrozen(params), Object.getPrototypeOf(params) === null, Object.keys(params), params.toString === undefined,
    ]),
    "/methods": {
      GET: new Response("got"),
      POST: async (request) => new Response(`posted ${await request.text()}`),
      DELETE: new Blob(["deleted"]),
      PATCH: false,
    },
    "/methods/:id": { PUT: (request) => json(request.params) },
    "/head": { HEAD: () => new Response(null, { headers: { "x-head": "own" } }), GET: new Response("got") },
    "/options": { OPTIONS: () => new Response("own options"), GET: new Response("got") },
    "/off": false,
    "/off/null": null,
  },
  fetch(request) {
    return new Response(`fetch ${request.method} ${new URL(request.url).pathname} ${request.params}`);
  },
};
