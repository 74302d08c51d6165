export { name as default } from "./names.js";
