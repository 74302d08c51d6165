// The good and the bad in one worker: what the bad ones do is felt by the good ones, and told to them.
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
    Promise.reject(new Error("nobody handles this"));
    return answer(request);
  },
  () => {
    throw new Error("thrown");
  },
];

export default { fetch: (request) => ways[way(request)](request) };
