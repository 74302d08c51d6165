// The client goes away before it has its answer; waitUntil goes on.
const begun = Promise.withResolvers();
const done = Promise.withResolvers();
export default {
  async fetch(request, env, ctx) {
    switch (new URL(request.url).pathname) {
      case "/start":
        begun.resolve("begun");
        ctx.waitUntil(new Promise((resolve) => request.signal.addEventListener("abort", resolve))
          .then(() => new Promise((resolve) => setTimeout(resolve, 10)))
          .then(() => done.resolve("done without a client")));
        return new Promise(() => {});
      case "/begun":
        return new Response(await begun.promise);
      default:
        return new Response(await done.promise);
    }
  },
};
