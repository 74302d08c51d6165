addEventListener("fetch", (event) => {
  if (event.request.url.endsWith("/first")) event.respondWith(new Response("first"));
});
addEventListener("fetch", { handleEvent: (event) => event.respondWith(new Response("second")) });
