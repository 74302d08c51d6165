import "../relative/app.js";
export default { fetch: () => new Response("never") };
