Promise.reject(new Error("rejected at the start"));
export default { fetch: () => new Response("hi") };
