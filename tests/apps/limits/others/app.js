// One request hits a limit while others of the same worker wait.
const waiting = Promise.withResolvers();
export default {
  async fetch(request) {
    switch (new URL(request.url).pathname) {
      case "/wait":
        waiting.resolve();
        return new Promise(() => {});
      case "/waiting":
        await waiting.promise;
        return new Response("waiting");
      case "/loop":
        for (;;);
      default:
        return new Response("fine");
    }
  },
};
