// Turns that are long, and within their limit: others must not wait for them.
import { answer } from "./common.js";

export default {
  fetch(request) {
    const end = Date.now() + 15;
    while (Date.now() < end);
    return answer(request);
  },
};
