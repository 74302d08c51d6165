// Overwrites what the runtime might use, and then uses none of it itself.
const KeptResponse = Response, KeptStream = ReadableStream, encoder = new TextEncoder();
const bytes = encoder.encode("streamed");
const sleep = (f) => setTimeout(f, 1);
function broken() {
  throw new Error("the app broke this");
}
Map.prototype.get = Map.prototype.set = Map.prototype.has = Map.prototype.delete = Map.prototype.forEach = broken;
Map.prototype[Symbol.iterator] = Map.prototype.entries = broken;
Set.prototype.add = Set.prototype.has = Set.prototype.delete = broken;
WeakMap.prototype.get = WeakMap.prototype.set = broken;

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
