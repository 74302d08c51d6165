// Asks for what is not there.
import { nothing } from "./nowhere.js";

export default { fetch: () => new Response(nothing) };
