// A stream that begins and then says nothing.
let aborted = Promise.withResolvers();
export default {
  async fetch(request) {
    if (request.url.endsWith("/aborted")) return new Response(await aborted.promise);
    request.signal.addEventListener("abort", () => aborted.resolve("aborted"));
    return new Response(new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode("begun")),
    }));
  },
};
