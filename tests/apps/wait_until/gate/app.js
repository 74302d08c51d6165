// A promise that only another request settles.
const opened = Promise.withResolvers();
const done = Promise.withResolvers();
export default {
  async fetch(request, env, ctx) {
    switch (new URL(request.url).pathname) {
      case "/start":
        ctx.waitUntil(opened.promise.then(() => done.resolve("done")));
        return new Response("started");
      case "/open":
        opened.resolve();
        return new Response("opened");
      default:
        return new Response(await done.promise);
    }
  },
};
