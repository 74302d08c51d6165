addEventListener("fetch", async (event) => {
  event.respondWith(Promise.resolve(new Response("responded")));
});
