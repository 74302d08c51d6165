let count = 0;
export default { fetch: () => new Response(String(++count)) };
