import data from "./data.json" with { type: "css" };
export default { fetch: () => new Response(data) };
