// eventemitter3, mitt, lru-cache, node-cache and rate-limiter-flexible.
import EventEmitter from "eventemitter3";
import { LRUCache } from "lru-cache";
import mitt from "mitt";
import NodeCache from "node-cache";
import { RateLimiterMemory } from "rate-limiter-flexible";
import { program } from "../program.js";

export default program(async (same) => {
  const emitter = new EventEmitter();
  const seen = [];
  emitter.once("a", (n) => seen.push(n));
  emitter.on("a", (n) => seen.push(n * 10));
  emitter.emit("a", 1);
  emitter.emit("a", 2);
  same("eventemitter3", [seen, emitter.listenerCount("a"), emitter.emit("none")], [[1, 10, 20], 1, false]);
  const bus = mitt();
  bus.on("*", (type, value) => seen.push([type, value]));
  bus.emit("x", 1);
  same("mitt", seen.at(-1), ["x", 1]);
  const dropped = [];
  const cache = new LRUCache({ max: 2, dispose: (value, key) => dropped.push(key), fetchMethod: async (key) => key.toUpperCase() });
  cache.set("a", 1).set("b", 2);
  cache.get("a");
  cache.set("c", 3);
  same("lru-cache", [await cache.fetch("d"), [...cache.keys()], dropped], ["D", ["d", "c"], ["b", "a"]]);
  const store = new NodeCache({ stdTTL: 100, checkperiod: 0 });
  store.set("k", { deep: [1] });
  same("node-cache", [store.get("k"), store.take("k").deep, store.has("k"), store.getStats().hits], [{ deep: [1] }, [1], false, 2]);
  const limiter = new RateLimiterMemory({ points: 2, duration: 60 });
  await limiter.consume("ada");
  await limiter.consume("ada");
  const refused = await limiter.consume("ada").catch((rejection) => rejection);
  same("rate-limiter-flexible", [refused.remainingPoints, refused.msBeforeNext > 0], [0, true]);
});
