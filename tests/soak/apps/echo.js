// A body that passes through.
import { answer } from "./common.js";

export default { fetch: (request) => answer(request, request.body) };
