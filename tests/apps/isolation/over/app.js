// What belonged to a request that is over, in the hands of another.
let kept;
const tried = async (f) => {
  try {
    return `${await f()}`;
  } catch (error) {
    return error.name;
  }
};
export default {
  async fetch(request, env, ctx) {
    switch (new URL(request.url).pathname) {
      case "/keep":
        kept = { request, ctx, later: () => new Response("late") };
        return new Response("kept");
      case "/stream": {
        kept = { stream: new Response(new ReadableStream({
          start: (controller) => {
            controller.enqueue(new TextEncoder().encode("of another"));
            controller.close();
          },
        })) };
        return new Response("made");
      }
      case "/give":
        return kept.stream;
      case "/use":
        kept.ctx.waitUntil(Promise.resolve());
        return new Response([
          await tried(() => kept.request.method),
          await tried(() => kept.request.text()),
          await tried(() => kept.request.body?.getReader().read()),
          await tried(() => kept.request.headers.get("x")),
          await tried(() => new Response(kept.request.body)),
          await tried(() => typeof kept.request.signal.aborted),
        ].join());
    }
  },
};
