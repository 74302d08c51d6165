const encoder = new TextEncoder();
export default {
  fetch(request) {
    switch (new URL(request.url).pathname) {
      case "/text":
        return new Response("a string");
      case "/stream":
        return new Response(new ReadableStream({
          start(controller) {
            controller.enqueue(encoder.encode("a "));
            controller.enqueue(encoder.encode("stream"));
            controller.close();
          },
        }));
      case "/encoder":
        return new Response(new ReadableStream({
          start(controller) {
            for (const part of ["through ", "an ", "encoder"]) controller.enqueue(part);
            controller.close();
          },
        }).pipeThrough(new TextEncoderStream()));
      case "/bytes":
        return new Response(new ReadableStream({
          type: "bytes",
          pull(controller) {
            controller.enqueue(encoder.encode("a byte stream"));
            controller.close();
          },
        }));
      case "/iterable":
        return new Response(ReadableStream.from((async function* () {
          for (const part of ["from ", "an ", "iterable"]) yield encoder.encode(part);
        })()));
      case "/empty":
        return new Response(new ReadableStream({ start: (controller) => controller.close() }));
    }
  },
};
