import { absent } from "./some.js";
export default { fetch: () => new Response(absent) };
