// What has been read cannot be read again, nor sent.
const name = async (f) => {
  try {
    await f();
    return "no error";
  } catch (error) {
    return error.name;
  }
};
export default {
  async fetch(request) {
    switch (new URL(request.url).pathname) {
      case "/twice": {
        const response = new Response("x");
        const before = response.bodyUsed;
        await response.text();
        return Response.json([before, response.bodyUsed, await name(() => response.text()), await name(() => response.clone())]);
      }
      case "/locked": {
        const stream = new ReadableStream();
        stream.getReader();
        return Response.json([stream.locked, await name(() => new Response(stream)), await name(() => stream.getReader())]);
      }
      case "/send_used": {
        const response = new Response("x");
        await response.text();
        return response;
      }
      case "/send_locked": {
        const response = new Response(new ReadableStream());
        response.body.getReader();
        return response;
      }
      case "/request_twice":
        await request.text();
        return Response.json([request.bodyUsed, await name(() => request.text())]);
      case "/send_twice":
        globalThis.kept ??= new Response("once");
        return globalThis.kept;
    }
  },
};
