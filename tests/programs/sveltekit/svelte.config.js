import adapter from "./adapter.js";

export default { kit: { adapter: adapter() } };
