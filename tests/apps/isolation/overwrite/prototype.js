// Overwrites what the runtime might use; what answers does not use it.
import { broken } from "./answers.js";
export { default } from "./answers.js";

for (const name of ["get", "set", "value", "writable", "status", "headers", "signal", "highWaterMark", "start", "pull"]) {
  Object.defineProperty(Object.prototype, name, { __proto__: null, get: broken, configurable: true });
}
