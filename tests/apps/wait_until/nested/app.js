// waitUntil can be called while waitUntil runs.
const done = Promise.withResolvers();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export default {
  async fetch(request, env, ctx) {
    if (!request.url.endsWith("/start")) return new Response(await done.promise);
    ctx.waitUntil(sleep(5).then(() => {
      ctx.waitUntil(sleep(20).then(() => done.resolve("nested")));
    }));
    return new Response("started");
  },
};
