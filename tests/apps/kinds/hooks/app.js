let requests = 0;
export default {
  name: "hooks",
  fetch: () => new Response(`${++requests}`),
  async onIdle(env, ctx) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    console.log(`${this.name} idle after ${requests} requests, ${Object.isFrozen(env)}, ${typeof ctx.waitUntil}`);
  },
  async onTerminate() {
    await null;
    console.log(`terminated after ${requests} requests`);
  },
};
