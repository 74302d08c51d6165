// Work that requests share: all wait for what the first one started.
let shared, started = 0;
export default {
  async fetch(request) {
    if (request.url.endsWith("/started")) return new Response(`${started}`);
    shared ??= (started++, new Promise((resolve) => setTimeout(() => resolve("shared"), 10)));
    return new Response(await shared);
  },
};
