addEventListener("fetch", (event) => event.respondWith(new Response("listener")));
export default { fetch: () => new Response("default") };
