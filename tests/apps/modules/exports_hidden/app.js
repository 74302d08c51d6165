import "closed/secret.js";
export default { fetch: () => new Response("never") };
