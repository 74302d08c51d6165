// waitUntil of a response that streams.
const done = Promise.withResolvers();
export default {
  async fetch(request, env, ctx) {
    if (!request.url.endsWith("/start")) return new Response(await done.promise);
    const { readable, writable } = new TransformStream();
    const writer = writable.getWriter();
    ctx.waitUntil((async () => {
      await writer.write(new TextEncoder().encode("streamed"));
      await writer.close();
      await new Promise((resolve) => setTimeout(resolve, 10));
      done.resolve("after the stream");
    })());
    return new Response(readable);
  },
};
