export default { routes: { "/fine": new Response("fine"), "/users/:id.json": new Response("no") } };
