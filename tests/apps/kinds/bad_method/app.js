export default { routes: { "/wrong": { get: () => new Response("no") } } };
