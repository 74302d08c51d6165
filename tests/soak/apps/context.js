// Interleaved requests, each with a store of its own.
import { AsyncLocalStorage } from "node:async_hooks";
import { answer, mark, sleep } from "./common.js";

const storage = new AsyncLocalStorage();

async function deep() {
  await sleep(Math.random() * 5);
  await Promise.all([sleep(1), new Promise((resolve) => queueMicrotask(resolve))]);
  return storage.getStore();
}

export default {
  fetch: (request) => storage.run(mark(request), async () => answer(request, await deep())),
};
