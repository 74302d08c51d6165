import { base } from "../base.js";
export const name = "names";
export const answer = () => base + 2;
