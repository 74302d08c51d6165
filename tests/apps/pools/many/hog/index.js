// Everything that an owner can do to its neighbours, one path each.
const storm = () => Promise.resolve().then(storm);

export default {
  fetch(request) {
    switch (new URL(request.url).pathname) {
      case "/loop":
        for (;;);
      case "/memory": {
        const hoard = [];
        for (;;) hoard.push(new Array(1000).fill(hoard.length));
      }
      case "/never":
        return new Promise(() => {});
      case "/storm":
        return storm();
      case "/search":
        // V8 does not stop it, and it takes seconds: 5e9 characters are compared.
        return new Response(String("a".repeat(14e4).lastIndexOf("a".repeat(7e4) + "b")));
      case "/builtin":
        return new Response(String("a".repeat(3e7).replace(/a/g, "bb").length));
      default:
        return new Response("hog");
    }
  },
};
