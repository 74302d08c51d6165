// The answers of the apps beside this file. It is evaluated before they overwrite anything, and keeps what it needs itself.
const KeptResponse = Response, KeptStream = ReadableStream;
const bytes = new TextEncoder().encode("streamed");

export function broken() {
  throw new Error("the app broke this");
}

export default {
  fetch(request) {
    switch (request.url[request.url.length - 1]) {
      case "1":
        return new KeptResponse("text");
      case "2":
        return new KeptResponse(new KeptStream({
          __proto__: null,
          pull(controller) {
            controller.enqueue(bytes);
            controller.close();
          },
        }));
      case "3":
        return new KeptResponse(request.body);
      case "4":
        return (async () => {
          const text = await request.text();
          return new KeptResponse(text);
        })();
      case "5":
        return (async () => new KeptResponse(request.headers.get("x-custom")))();
      default:
        console.log("logged", { __proto__: null, a: 1 });
        return new KeptResponse("logged");
    }
  },
};
