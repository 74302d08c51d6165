// More outgoing requests than may be open at once.
export default {
  async fetch(request, env) {
    if (request.url.endsWith("/ok")) return new Response("fine");
    const texts = await Promise.all(Array.from({ length: 8 }, async () => (await fetch(env.BACKEND)).text()));
    return new Response(texts.join(""));
  },
};
