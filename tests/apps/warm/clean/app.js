// Nothing of one response is seen in the next.
export default {
  fetch(request) {
    if (request.url.endsWith("/rich")) {
      return new Response("rich", { status: 418, statusText: "Teapot", headers: { "x-left": "behind", "set-cookie": "a=1" } });
    }
    return new Response("plain");
  },
};
