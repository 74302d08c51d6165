export default { routes: { "/a/:id": new Response("id"), "/a/:name": new Response("name") } };
