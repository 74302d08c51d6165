addEventListener("fetch", async (event) => {
  await new Promise((resolve) => setTimeout(resolve, 5));
  event.respondWith(new Response("responded late"));
});
