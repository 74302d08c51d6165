// Server-sent events: a message every second, until the client disconnects.
const encoder = new TextEncoder();

export default {
  routes: {
    "/": Hearth.file("./page.html"),
    "/events": (request: Request) => {
      // A browser that comes back says what it has seen.
      const seen = Number(request.headers.get("last-event-id") ?? 0);
      return new Response(events(seen), {
        headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
      });
    },
  },
};

function events(seen: number): ReadableStream<Uint8Array> {
  let timer: ReturnType<typeof setInterval>;
  return new ReadableStream({
    start(controller) {
      let id = seen;
      const tell = () => {
        id += 1;
        controller.enqueue(encoder.encode(`id: ${id}\ndata: ${new Date().toISOString()}\n\n`));
      };
      tell();
      timer = setInterval(tell, 1000);
    },
    cancel() {
      clearInterval(timer);
    },
  });
}
