// Overwrites what the runtime might use; what answers does not use it.
import { broken } from "./answers.js";
export { default } from "./answers.js";

Array.prototype.push = Array.prototype.map = Array.prototype.join = Array.prototype.slice = Array.prototype.forEach = broken;
Array.prototype[Symbol.iterator] = broken;
