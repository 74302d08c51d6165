// Routes as a table: answers, files, handlers, methods, parameters. What is not in it goes to `fetch`.
type Routed = Request & { params: Record<string, string> };

const notes = new Map<string, string>();

export default {
  routes: {
    "/": Hearth.file("./page.html"),
    "/health": new Response("ok\n"),
    "/hello/:name": (request: Routed) => new Response(`Hello, ${request.params.name}!\n`),
    "/notes": () => Response.json(Object.fromEntries(notes)),
    "/notes/:id": {
      GET({ params }: Routed) {
        const note = notes.get(params.id);
        return note === undefined ? Response.json({ error: "no such note" }, { status: 404 }) : new Response(note);
      },
      async PUT(request: Routed) {
        notes.set(request.params.id, await request.text());
        return new Response(null, { status: 204 });
      },
      DELETE({ params }: Routed) {
        return new Response(null, { status: notes.delete(params.id) ? 204 : 404 });
      },
    },
  },
  fetch(request: Request): Response {
    return Response.json({ error: "not found", path: new URL(request.url).pathname }, { status: 404 });
  },
};
