import { slow } from "./slow.js";
const start = await Promise.all([slow, new Promise((resolve) => setTimeout(resolve, 5, "timer"))]);
export default { fetch: () => new Response(start.join()) };
