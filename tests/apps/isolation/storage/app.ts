// Requests that interleave, each with its own store.
import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";

const storage = new AsyncLocalStorage<string>();
const allArrived = Promise.withResolvers<void>();
let here = 0;

async function deep(): Promise<string | undefined> {
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
  await Promise.resolve();
  await new Promise<void>((resolve) => queueMicrotask(resolve));
  return storage.getStore();
}

export default {
  fetch(request: Request): Promise<Response> {
    const name = new URL(request.url).pathname;
    return storage.run(name, async () => {
      if (++here === 10) allArrived.resolve();
      await allArrived.promise;
      const seen = [await deep(), await storage.run("inner", deep), await storage.exit(deep), storage.getStore()];
      const bound = AsyncResource.bind(() => storage.getStore());
      seen.push(storage.run("other", () => bound()));
      await Promise.all([1, 2, 3].map(async () => seen.push(await deep())));
      return new Response(seen.map(String).join());
    });
  },
};
