export default {
  fetch(request, env, ctx, ...more) {
    ctx.passThroughOnException();
    const facts = [request instanceof Request, env.NAME, typeof ctx.waitUntil, more.length];
    return new Response(facts.join(" "));
  },
};
