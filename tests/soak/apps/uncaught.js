// Errors that no handler answers for: the request is answered, and the worker replaced.
import { answer, sleep, way } from "./common.js";

const ways = [
  () => new Promise((resolve) => setTimeout(() => { resolve(); throw new Error("this is not caught"); }, 1)),
  () => void Promise.reject(new Error("this is not handled")),
  () => {
    setTimeout(() => { throw new Error("this is not awaited"); }, 1);
    return sleep(5);
  },
];

export default {
  async fetch(request) {
    await ways[way(request)]();
    return answer(request);
  },
};
