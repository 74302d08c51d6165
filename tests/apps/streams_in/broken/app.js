const outcome = Promise.withResolvers();
export default {
  async fetch(request) {
    if (request.url.endsWith("/outcome")) return new Response(await outcome.promise);
    try {
      const text = await request.text();
      outcome.resolve(`read ${text}`);
      return new Response(text);
    } catch (error) {
      outcome.resolve(`rejected with ${error.name}`);
      throw error;
    }
  },
};
