export default {
  async fetch(request) {
    switch (new URL(request.url).pathname) {
      case "/cancel": {
        const reader = request.body.getReader();
        const { value } = await reader.read();
        await reader.cancel();
        return new Response(`had ${value.length > 0 ? "some" : "none"}`);
      }
      case "/ignore":
        return new Response("ignored");
    }
  },
};
