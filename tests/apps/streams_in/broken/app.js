const begun = Promise.withResolvers(), outcome = Promise.withResolvers();
export default {
  async fetch(request) {
    if (request.url.endsWith("/begun")) return new Response(await begun.promise);
    if (request.url.endsWith("/outcome")) return new Response(await outcome.promise);
    try {
      const reading = request.text();
      begun.resolve("begun");
      const text = await reading;
      outcome.resolve(`read ${text}`);
      return new Response(text);
    } catch (error) {
      outcome.resolve(`rejected with ${error.name}`);
      throw error;
    }
  },
};
