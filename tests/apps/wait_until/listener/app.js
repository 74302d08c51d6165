let resolve;
const done = new Promise((r) => (resolve = r));
addEventListener("fetch", (event) => {
  if (!event.request.url.endsWith("/start")) return event.respondWith(done.then((text) => new Response(text)));
  event.waitUntil(new Promise((r) => setTimeout(r, 10)).then(() => resolve("event.waitUntil")));
  event.respondWith(new Response("started"));
});
