// Answers at once.
import { answer } from "./common.js";

export default { fetch: (request) => answer(request) };
