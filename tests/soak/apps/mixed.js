// Good and bad requests in one worker: the bad ones affect the good ones, whose responses report it.
import { answer, mark, sleep, way } from "./common.js";

const kept = [];
const ways = [
  (request) => answer(request),
  async (request) => {
    await sleep(20);
    return answer(request);
  },
  (request) => {
    const pieces = mark(request).match(/.{1,8}/g);
    const pull = async (controller) => {
      await sleep(3);
      if (pieces.length === 0) return controller.close();
      controller.enqueue(new TextEncoder().encode(pieces.shift()));
    };
    return answer(request, new ReadableStream({ pull }));
  },
  () => {
    for (;;);
  },
  () => {
    for (;;) kept.push(new Array(1000).fill(0));
  },
  (request) => {
    Promise.reject(new Error("this is not handled"));
    return answer(request);
  },
  () => {
    throw new Error("thrown");
  },
];

export default { fetch: (request) => ways[way(request)](request) };
