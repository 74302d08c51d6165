const kept = [];
for (;;) kept.push(new Array(1000).fill(0));
export default { fetch: () => new Response("never") };
