// Requests that are in flight when the program is told to stop.
const opened = Promise.withResolvers(), waiting = Promise.withResolvers();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export default {
  async fetch(request, env, ctx) {
    switch (new URL(request.url).pathname) {
      case "/wait":
        await sleep(300);
        return new Response("finished");
      case "/stream":
        return new Response(new ReadableStream({
          async start(controller) {
            controller.enqueue(new TextEncoder().encode("begun"));
            await sleep(300);
            controller.enqueue(new TextEncoder().encode("finished"));
            controller.close();
          },
        }));
      case "/never":
        return new Promise(() => {});
      case "/background":
        ctx.waitUntil(sleep(300).then(() => console.log("the background is done")));
        return new Response("answered");
    }
  },
};
