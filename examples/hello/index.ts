// Hearth's first app: text, a stream, and whatever is sent to it.
let visits = 0;

export default {
  async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    switch (url.pathname) {
      case "/":
        visits += 1;
        return new Response(`Hello from Hearth! You are visitor ${visits} of this worker.\n`);
      case "/time":
        return new Response(clock(), { headers: { "content-type": "text/event-stream" } });
      case "/echo":
        return new Response(request.body, { headers: { "content-type": request.headers.get("content-type") ?? "text/plain" } });
      default:
        return Response.json({ error: "not found", path: url.pathname }, { status: 404 });
    }
  },
};

/** The time, every second, until the client disconnects. */
function clock(): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let timer: number;
  return new ReadableStream({
    start(controller) {
      const tick = () => controller.enqueue(encoder.encode(`data: ${new Date().toISOString()}\n\n`));
      tick();
      timer = setInterval(tick, 1000) as unknown as number;
    },
    cancel() {
      clearInterval(timer);
    },
  });
}
