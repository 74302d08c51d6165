// Server-sent events. Each next one is sent when another request asks for it.
const encoder = new TextEncoder();
const event = (n) => encoder.encode(`data: ${n}\n\n`);
const headers = { "content-type": "text/event-stream" };
let next = Promise.withResolvers();
export default {
  fetch(request) {
    switch (new URL(request.url).pathname) {
      case "/next":
        next.resolve();
        next = Promise.withResolvers();
        return new Response("next");
      case "/start":
        return new Response(new ReadableStream({
          async start(controller) {
            for (let n = 1; n <= 3; n++) {
              controller.enqueue(event(n));
              if (n < 3) await next.promise;
            }
            controller.close();
          },
        }), { headers });
      case "/pull": {
        let n = 0;
        return new Response(new ReadableStream({
          async pull(controller) {
            if (n > 0) await next.promise;
            controller.enqueue(event(++n));
            if (n === 3) controller.close();
          },
        }, { highWaterMark: 0 }), { headers });
      }
      case "/transform": {
        const { readable, writable } = new TransformStream();
        const writer = writable.getWriter();
        (async () => {
          for (let n = 1; n <= 3; n++) {
            await writer.write(event(n));
            if (n < 3) await next.promise;
          }
          await writer.close();
        })();
        return new Response(readable, { headers });
      }
    }
  },
};
