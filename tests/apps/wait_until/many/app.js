let settled = 0;
const all = Promise.withResolvers();
export default {
  async fetch(request, env, ctx) {
    if (!request.url.endsWith("/start")) return new Response(`${await all.promise}`);
    for (let i = 0; i < 50; i++) {
      ctx.waitUntil(new Promise((resolve) => setTimeout(resolve, i % 7)).then(() => {
        if (++settled === 50) all.resolve(settled);
      }));
    }
    return new Response("started");
  },
};
