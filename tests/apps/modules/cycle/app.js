import { even } from "./even.js";
import { self } from "./app.js";
export const self_name = "app";
export { self_name as self };
export default { fetch: () => new Response([even(10), even(7), self].join()) };
