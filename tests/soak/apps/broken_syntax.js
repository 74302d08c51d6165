// No module at all.
export default { fetch: () => new Response("never" };
