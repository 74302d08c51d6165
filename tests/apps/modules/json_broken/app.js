import data from "./data.json";
export default { fetch: () => new Response(data) };
