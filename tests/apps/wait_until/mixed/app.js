// One rejection does not cut off the others.
const done = Promise.withResolvers();
export default {
  async fetch(request, env, ctx) {
    if (!request.url.endsWith("/start")) return new Response(await done.promise);
    ctx.waitUntil(Promise.reject(new Error("the first fails")));
    ctx.waitUntil(new Promise((resolve) => setTimeout(resolve, 20)).then(() => done.resolve("the second is done")));
    ctx.waitUntil("not even a promise");
    return new Response("started");
  },
};
