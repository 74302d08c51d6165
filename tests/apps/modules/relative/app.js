import { name, answer } from "./lib/names.js";
import * as all from "./lib/names.js";
import folder from "./lib/index.js";
export default { fetch: () => new Response([name, answer(), Object.keys(all).join("+"), folder].join()) };
