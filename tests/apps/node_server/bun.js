// Bun.serve without an export.
const server = Bun.serve({
  port: 0,
  routes: { "/users/:id": (request) => new Response(request.params.id), "/fixed": new Response("fixed") },
  fetch(request, server) {
    if (server.upgrade(request, { data: new URL(request.url).pathname })) return undefined;
    if (request.url.endsWith("/throw")) throw new Error("thrown");
    return new Response(`Hello from ${server === this}`);
  },
  error: (error) => new Response(error.message, { status: 500 }),
  websocket: {
    open: (socket) => socket.send(`open ${socket.data}`),
    message: (socket, message) => socket.send(`echo ${message}`),
  },
});
if (server.port !== 3000) throw new Error("no port");
