// Everything that an owner can do to its neighbours, one path each.
const storm = () => Promise.resolve().then(storm);

export default {
  fetch(request) {
    switch (new URL(request.url).pathname) {
      case "/hog/loop":
        for (;;);
      case "/hog/memory": {
        const hoard = [];
        for (;;) hoard.push(new Array(1000).fill(hoard.length));
      }
      case "/hog/never":
        return new Promise(() => {});
      case "/hog/storm":
        return storm();
      case "/hog/builtin":
        return new Response(String("a".repeat(3e7).replace(/a/g, "bb").length));
      default:
        return new Response("hog");
    }
  },
};
