// A stream that counts, and what becomes of it when its client goes away.
const encoder = new TextEncoder();
let pulls = 0, threw = "", signal = "";
const cancelled = Promise.withResolvers();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export default {
  async fetch(request) {
    switch (new URL(request.url).pathname) {
      case "/pull":
        return new Response(new ReadableStream({
          async pull(controller) {
            pulls++;
            await sleep(5);
            controller.enqueue(encoder.encode("tick"));
          },
          cancel: (reason) => cancelled.resolve(`cancelled with ${reason.name}`),
        }));
      case "/push": {
        let timer;
        request.signal.addEventListener("abort", () => (signal = request.signal.reason.name));
        return new Response(new ReadableStream({
          start(controller) {
            timer = setInterval(() => controller.enqueue(encoder.encode("tick")), 5);
            this.controller = controller;
          },
          cancel() {
            clearInterval(timer);
            try {
              this.controller.enqueue(encoder.encode("too late"));
            } catch (error) {
              threw = error.name;
            }
            cancelled.resolve(`cancelled, signal ${signal}, enqueue threw ${threw}`);
          },
        }));
      }
      case "/idle":
        return new Response(new ReadableStream({
          start: (controller) => controller.enqueue(encoder.encode("tick")),
          cancel: () => cancelled.resolve("cancelled while idle"),
        }));
      case "/transform": {
        const { readable, writable } = new TransformStream();
        const writer = writable.getWriter();
        writer.closed.catch((error) => cancelled.resolve(`writer failed with ${error.name}`));
        (async () => {
          for (;;) {
            await writer.write(encoder.encode("tick"));
            await sleep(5);
          }
        })().catch(() => {});
        return new Response(readable);
      }
      case "/whole":
        return new Response(new ReadableStream({
          start(controller) {
            controller.enqueue(encoder.encode("all"));
            controller.close();
          },
          cancel: () => (threw = "cancelled"),
        }));
      case "/cancelled":
        return new Response(await cancelled.promise);
      case "/pulls": {
        const before = pulls;
        await sleep(100);
        return new Response(`${pulls - before}`);
      }
      default:
        return new Response(threw || "fine");
    }
  },
};
