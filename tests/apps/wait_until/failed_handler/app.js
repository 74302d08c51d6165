// A handler that throws has its waitUntil all the same.
const done = Promise.withResolvers();
export default {
  async fetch(request, env, ctx) {
    if (!request.url.endsWith("/start")) return new Response(await done.promise);
    ctx.waitUntil(new Promise((resolve) => setTimeout(resolve, 10)).then(() => done.resolve("done all the same")));
    throw new Error("no answer");
  },
};
