addEventListener("fetch", (event) => {
  event.respondWith(new Response("responded"));
  return new Response("returned");
});
