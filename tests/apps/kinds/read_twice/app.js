const response = new Response("read already");
await response.text();
export default { routes: { "/read": response } };
