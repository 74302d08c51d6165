const ways = {
  loop: (ctx) => ctx.waitUntil((async () => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    for (;;);
  })()),
  never: (ctx) => ctx.waitUntil(new Promise(() => {})),
  ok: () => {},
};
let count = 0;
export default {
  fetch(request, env, ctx) {
    ways[new URL(request.url).pathname.slice(1)](ctx);
    return new Response(`${++count}`);
  },
};
