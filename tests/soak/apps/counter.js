// Module state: a worker that has a name, and no number twice.
import { answer, mark } from "./common.js";

const worker = crypto.randomUUID();
let count = 0;

export default { fetch: (request) => answer(request, `${mark(request)} ${worker} ${++count}`) };
