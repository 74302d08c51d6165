// Requests that are in flight when the program is told to stop.
const come = Promise.withResolvers();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export default {
  async fetch(request, env, ctx) {
    switch (new URL(request.url).pathname) {
      case "/":
        return new Response("at once");
      case "/wait":
        come.resolve("come");
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
      case "/later":
        ctx.waitUntil(sleep(300).then(() => console.log("the work after the response is done")));
        return new Response("answered");
      case "/never":
        come.resolve("come");
        return new Promise(() => {});
      case "/come":
        return new Response(await come.promise);
    }
  },
};
