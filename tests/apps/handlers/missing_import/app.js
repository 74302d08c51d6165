import { gone } from "./gone.js";
export default { fetch: () => new Response(gone) };
