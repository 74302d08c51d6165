// Built-ins that V8 does not stop: one aborts the process, the other goes on for seconds after its termination.
export default {
  fetch(request) {
    switch (new URL(request.url).pathname) {
      case "/abort":
        return new Response(`${"x".repeat(2 ** 28).split("").length}`);
      case "/stuck":
        // Compares 5e9 characters.
        return new Response(`${"a".repeat(14e4).lastIndexOf("a".repeat(7e4) + "b")}`);
      default:
        return new Response("fine");
    }
  },
};
