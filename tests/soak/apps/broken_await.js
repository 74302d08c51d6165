// Fails late, in a top-level await.
await new Promise((_, reject) => setTimeout(reject, 2, new Error("rejected by the module")));

export default { fetch: () => new Response("never") };
