// Overwrites what the runtime might use; what answers does not use it.
import { broken } from "./answers.js";
export { default } from "./answers.js";

Object.defineProperty = Object.freeze = Object.keys = Object.entries = broken;
Reflect.apply = Reflect.construct = Reflect.ownKeys = broken;
Function.prototype.call = Function.prototype.apply = Function.prototype.bind = broken;
JSON.stringify = JSON.parse = broken;
String.prototype.startsWith = String.prototype.toLowerCase = String.prototype.charCodeAt = broken;
Symbol.iterator in Object;
