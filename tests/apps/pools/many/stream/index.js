// Echoes: what comes in goes out, for as long as the client likes. /late answers another request's promise.
let waiting;
export default {
  fetch(request) {
    switch (new URL(request.url).pathname) {
      case "/echo":
        return new Response(request.body);
      case "/wait":
        return new Promise((resolve) => (waiting = resolve));
      case "/release":
        waiting?.(new Response("for the one that waited"));
        return new Response("released");
      default:
        return new Response("stream");
    }
  },
};
