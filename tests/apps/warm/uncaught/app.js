// An error that no handler answers for: the worker is replaced, and module state begins anew.
let count = 0;
export default {
  async fetch(request) {
    count++;
    if (request.url.endsWith("/uncaught")) {
      await new Promise((resolve) => setTimeout(() => { resolve(); throw new Error("not caught anywhere"); }, 1));
    }
    if (request.url.endsWith("/unhandled")) Promise.reject(new Error("not handled anywhere"));
    return new Response(`${count}`);
  },
};
