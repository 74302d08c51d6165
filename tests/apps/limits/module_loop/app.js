for (let i = 0; ; i++);
export default { fetch: () => new Response("never") };
