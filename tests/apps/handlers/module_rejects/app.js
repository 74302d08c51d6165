await Promise.reject(new RangeError("rejected at the top"));
export default { fetch: () => new Response("never") };
