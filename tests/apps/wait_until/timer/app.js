// Timers go on for as long as waitUntil does, one after the other.
const done = Promise.withResolvers();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export default {
  async fetch(request, env, ctx) {
    if (!request.url.endsWith("/start")) return new Response(await done.promise);
    ctx.waitUntil((async () => {
      for (let i = 0; i < 3; i++) await sleep(20);
      done.resolve("after three timers");
    })());
    return new Response("started");
  },
};
