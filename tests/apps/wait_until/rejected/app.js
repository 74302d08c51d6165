export default {
  fetch(request, env, ctx) {
    ctx.waitUntil(Promise.reject(new Error("lost in the background")));
    return new Response("fine");
  },
};
