// Built-ins that V8 does not stop: one aborts the process, the other goes on for seconds after its termination.
let length = 0;
export default {
  fetch(request) {
    switch (new URL(request.url).pathname) {
      case "/abort":
        return new Response(`${"x".repeat(2 ** 28).split("").length}`);
      case "/stuck":
        for (;;) length += "a".repeat(1e8).replace(/a/g, "bb").length;
      default:
        return new Response("fine");
    }
  },
};
