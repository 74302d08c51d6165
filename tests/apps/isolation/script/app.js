// Service-worker style.
addEventListener("fetch", (event) => {
  event.respondWith(new Response(`${event.env.KEY},${Object.isFrozen(event.env)}`));
});
