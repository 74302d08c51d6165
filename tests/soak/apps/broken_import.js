// Imports a missing module.
import { nothing } from "./nowhere.js";

export default { fetch: () => new Response(nothing) };
