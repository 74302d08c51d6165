import { where } from "./lib/where.js";
export default { fetch: () => new Response([import.meta.url, import.meta.filename, import.meta.dirname, where].join()) };
