// Code that goes on for ever without ever waiting. Each path is one way.
import loopBytes from "./loop.wasm";

const ways = {
  endless_loop() {
    for (;;);
  },
  async endless_loop_after_await() {
    await null;
    for (;;);
  },
  endless_loop_in_timer() {
    return new Promise(() => setTimeout(() => { for (;;); }, 1));
  },
  loop_in_finally() {
    try {
      throw new Error("start");
    } finally {
      while (true);
    }
  },
  loop_in_nested_finally() {
    const again = () => {
      try {
        for (;;);
      } finally {
        again();
      }
    };
    again();
  },
  loop_that_catches() {
    for (;;) {
      try {
        throw new Error("again");
      } catch {
        continue;
      }
    }
  },
  microtask_storm() {
    const storm = () => queueMicrotask(storm);
    storm();
    return new Promise(() => {});
  },
  promise_chain() {
    const chain = () => Promise.resolve().then(chain);
    return chain();
  },
  async async_recursion() {
    const again = async () => {
      await null;
      return again();
    };
    return again();
  },
  catastrophic_regex() {
    return new Response(/^(a+)+$/.exec("a".repeat(50) + "b"));
  },
  catastrophic_regex_replace() {
    return new Response("a".repeat(40).replace(/(a*)*b/g, ""));
  },
  generator() {
    function* numbers() {
      for (let i = 0; ; i++) yield i;
    }
    let sum = 0;
    for (const number of numbers()) sum += number;
  },
  small_arrays() {
    let a;
    for (;;) a = new Array(20);
  },
  getter_loop() {
    const object = { get value() { return this.value2; }, get value2() { for (;;); } };
    return new Response(object.value);
  },
  proxy_loop() {
    const proxy = new Proxy({}, { ownKeys() { for (;;); } });
    return new Response(Object.keys(proxy).join());
  },
  to_string_loop() {
    return new Response({ toString() { for (;;); } });
  },
  sort_loop() {
    return new Response([3, 2, 1].sort(() => { for (;;); }).join());
  },
  json_loop() {
    return Response.json({ toJSON() { for (;;); } });
  },
  headers_loop() {
    return new Response("", { headers: { *[Symbol.iterator]() { for (;;); } } });
  },
  eval_loop() {
    new Function("for (;;);")();
  },
  clone_loop() {
    structuredClone({ get a() { for (;;); } });
  },
  wasm_loop() {
    new WebAssembly.Instance(loopBytes).exports.loop();
  },
  stream_loop() {
    let begun = false;
    return new Response(new ReadableStream({
      async pull(controller) {
        if (!begun) return controller.enqueue(new TextEncoder().encode((begun = true, "begun")));
        await new Promise((resolve) => setTimeout(resolve, 10));
        for (;;);
      },
    }));
  },
  thenable_loop() {
    return { then() { for (;;); } };
  },
  async long_derivations() {
    // Computed on another thread, and charged all the same.
    const { subtle } = crypto;
    const key = await subtle.importKey("raw", new Uint8Array(8), "PBKDF2", false, ["deriveBits"]);
    const how = { name: "PBKDF2", hash: "SHA-256", salt: new Uint8Array(8), iterations: 100_000 };
    for (;;) await subtle.deriveBits(how, key, 256);
  },
  many_turns() {
    // No turn is long, but there are many before the response.
    let end;
    const work = () => {
      for (const start = performance.now(); performance.now() - start < 20;);
      end = setTimeout(work, 0);
    };
    work();
    return new Promise(() => {});
  },
  ok: () => new Response("fine"),
};

export default { fetch: (request) => ways[new URL(request.url).pathname.slice(1)]() };
