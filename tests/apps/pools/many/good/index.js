export default { fetch: () => new Response("good") };
