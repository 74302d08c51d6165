// Errors that no handler answers for: the request is answered, and the worker replaced.
import { answer, sleep, way } from "./common.js";

const ways = [
  () => new Promise((resolve) => setTimeout(() => { resolve(); throw new Error("nobody catches this"); }, 1)),
  () => void Promise.reject(new Error("nobody handles this")),
  () => {
    setTimeout(() => { throw new Error("nobody waits for this"); }, 1);
    return sleep(5);
  },
];

export default {
  async fetch(request) {
    await ways[way(request)]();
    return answer(request);
  },
};
