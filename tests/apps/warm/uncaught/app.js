// An error that no handler answers for: the worker is replaced, and module state begins anew.
let count = 0;
export default {
  async fetch(request) {
    count++;
    if (request.url.endsWith("/uncaught")) {
      await new Promise((resolve) => setTimeout(() => { resolve(); throw new Error("nobody catches this"); }, 1));
    }
    if (request.url.endsWith("/unhandled")) Promise.reject(new Error("nobody handles this"));
    return new Response(`${count}`);
  },
};
