// What an app can reach, and what it must not.
import * as hooks from "node:async_hooks";

const names = (object) => Object.getOwnPropertyNames(object);
const tried = async (f) => {
  try {
    return `${await f()}`;
  } catch (error) {
    return error.name;
  }
};

/** Everything that can be reached from globalThis by properties, prototypes and getters' functions. */
function reachable() {
  const seen = new Set(), paths = new Map(), open = [[globalThis, "globalThis"]];
  for (const [object, path] of open) {
    if ((typeof object !== "object" && typeof object !== "function") || object === null || seen.has(object)) continue;
    seen.add(object);
    paths.set(object, path);
    for (const key of Reflect.ownKeys(object)) {
      const { value, get, set } = Reflect.getOwnPropertyDescriptor(object, key);
      for (const next of [value, get, set]) open.push([next, `${path}.${String(key)}`]);
    }
    open.push([Reflect.getPrototypeOf(object), `${path}.__proto__`]);
  }
  return paths;
}

const ways = {
  underscores: () => names(globalThis).filter((name) => name.startsWith("__")).join(),
  internals: () => [...reachable().values()].filter((path) => /\b(op_|primordials|internal)/.test(path)).join(),
  shared: async () => [
    typeof SharedArrayBuffer,
    typeof Atomics,
    await tried(() => new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }).buffer.constructor.name),
    await tried(() => new WebAssembly.Memory({ initial: 1, maximum: 1, get shared() { return (this.asked = !this.asked) ? false : true; } }).buffer),
    await tried(() => Reflect.construct(WebAssembly.Memory, [{ initial: 1, maximum: 1, shared: 1 }])),
    await tried(() => new (Object.getPrototypeOf(new WebAssembly.Memory({ initial: 1 })).constructor)({ initial: 1, maximum: 1, shared: true })),
    await tried(() => WebAssembly.Memory.prototype.constructor({ initial: 1, maximum: 1, shared: true })),
  ].join(),
  shared_by_module: async () => {
    // (module (memory (export "memory") 1 1 shared))
    const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 5, 4, 1, 3, 1, 1, 7, 10, 1, 6, 109, 101, 109, 111, 114, 121, 2, 0]);
    return tried(() => {
      const { buffer } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.memory;
      return [typeof buffer.constructor === "function" && buffer.constructor.name, typeof Atomics].join();
    });
  },
  hooks: () => Object.keys(hooks).sort().join(),
  constructors: async () => [
    await tried(() => new FetchEvent("fetch")),
    await tried(() => new ExtendableEvent("fetch")),
    await tried(() => new ScheduledEvent("scheduled")),
    await tried(() => new TaskEvent("task")),
    await tried(() => new Crypto()),
    await tried(() => new SubtleCrypto()),
  ].join(),
  stack: () => {
    // V8's call sites would give functions and receivers of the runtime's own.
    Error.prepareStackTrace = (error, sites) => sites;
    const stack = new Error("x").stack;
    delete Error.prepareStackTrace;
    return Array.isArray(stack) ? stack.map((site) => typeof site.getThis?.()).join() : typeof stack;
  },
  caller: () => {
    function sloppy() {
      return sloppy.caller;
    }
    return tried(() => sloppy());
  },
  leaks: async (request, env, ctx) => {
    // Private state is not found on what apps are given.
    const keys = [request, ctx, request.headers, new Response("x"), new URL("http://x")].flatMap((o) => Reflect.ownKeys(o));
    return keys.map(String).join();
  },
};

export default {
  fetch: async (request, env, ctx) => new Response(await ways[new URL(request.url).pathname.slice(1)](request, env, ctx)),
};
