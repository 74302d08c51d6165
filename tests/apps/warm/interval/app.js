// Timers go with the request that set them.
let ticks = 0;
export default {
  async fetch(request) {
    if (request.url.endsWith("/start")) {
      setInterval(() => ticks++, 10);
      setTimeout(() => ticks++, 20);
      return new Response("started");
    }
    await new Promise((resolve) => setTimeout(resolve, 150));
    return new Response(`${ticks} ticks`);
  },
};
