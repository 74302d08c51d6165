const encoder = new TextEncoder();
const ways = {
  "/midway": (controller) => controller.error(new Error("midway")),
  "/text_chunk": (controller) => { controller.enqueue("not bytes"); },
  "/throws": () => { throw new Error("thrown in pull"); },
  "/rejects": async () => { await null; throw new Error("rejected in pull"); },
};
export default {
  fetch(request) {
    const way = ways[new URL(request.url).pathname];
    if (way === undefined) return new Response("fine");
    let first = true;
    return new Response(new ReadableStream({
      async pull(controller) {
        if (first) {
          first = false;
          controller.enqueue(encoder.encode("begun"));
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, 5));
        return way(controller);
      },
    }));
  },
};
