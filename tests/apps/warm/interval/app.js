// Timers go with the request that set them.
let ticks = 0;
export default {
  async fetch(request) {
    if (request.url.endsWith("/start")) {
      setInterval(() => ticks++, 10);
      setTimeout(() => ticks++, 20);
      return new Response("started");
    }
    // The end of the other request may be a little behind its response.
    for (let before = -1; before !== ticks; await new Promise((resolve) => setTimeout(resolve, 150))) before = ticks;
    return new Response("nothing ticks");
  },
};
