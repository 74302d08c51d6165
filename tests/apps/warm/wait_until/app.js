let count = 0;
export default {
  fetch(request, env, ctx) {
    if (request.url.endsWith("/reject")) ctx.waitUntil(Promise.reject(new Error("in the background")));
    else ctx.waitUntil(new Promise((resolve) => setTimeout(resolve, 1)));
    return new Response(`${++count}`);
  },
};
