// Overwrites what the runtime might use; what answers does not use it.
import { broken } from "./answers.js";
export { default } from "./answers.js";

Map.prototype.get = Map.prototype.set = Map.prototype.has = Map.prototype.delete = Map.prototype.forEach = broken;
Map.prototype[Symbol.iterator] = Map.prototype.entries = broken;
Set.prototype.add = Set.prototype.has = Set.prototype.delete = broken;
WeakMap.prototype.get = WeakMap.prototype.set = broken;
