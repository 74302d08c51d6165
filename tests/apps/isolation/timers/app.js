// A timer of one request, and another request that tries to clear it.
const clearing = Promise.withResolvers(), fired = Promise.withResolvers();
let last;
export default {
  async fetch(request) {
    if (request.url.endsWith("/clear")) {
      for (let id = 0; id <= last + 10; id++) {
        clearTimeout(id);
        clearInterval(id);
      }
      clearing.resolve();
      return new Response("cleared");
    }
    if (request.url.endsWith("/own")) {
      const id = setTimeout(() => fired.resolve("not cleared"), 1);
      clearTimeout(id);
      return new Response(await Promise.race([fired.promise, new Promise((resolve) => setTimeout(resolve, 20, "cleared"))]));
    }
    const timer = new Promise((resolve) => (last = setTimeout(resolve, 50, "fired")));
    await clearing.promise;
    return new Response(await timer);
  },
};
