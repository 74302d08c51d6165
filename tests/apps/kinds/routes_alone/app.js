export default {
  routes: {
    "/a": new Response("a"),
    "/b": { GET: new Response("b"), POST: () => new Response("posted") },
    "/off": false,
  },
};
