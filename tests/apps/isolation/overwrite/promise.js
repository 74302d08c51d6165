// Overwrites what the runtime might use; what answers does not use it.
import { broken } from "./answers.js";
export { default } from "./answers.js";

Promise.prototype.then = broken;
Promise.prototype.catch = broken;
Promise.resolve = broken;
globalThis.Promise = class {};
