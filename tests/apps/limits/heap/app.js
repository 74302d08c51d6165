// Code that takes all the memory it can get. Each path is one way.
const kept = [];
const ways = {
  objects() {
    for (let i = 0; ; i++) kept.push({ i, text: `number ${i}` });
  },
  arrays() {
    for (;;) kept.push(new Array(1000).fill(0));
  },
  keys() {
    const object = {};
    for (let i = 0; ; i++) object["k" + i] = i;
  },
  sparse_object() {
    const object = {};
    for (let i = 0; ; i++) object[i * 1000] = { i };
  },
  maps() {
    const map = new Map();
    for (let i = 0; ; i++) map.set(i, { i });
  },
  sets() {
    const set = new Set();
    for (let i = 0; ; i++) set.add(`entry ${i}`);
  },
  strings() {
    for (let i = 0; ; i++) kept.push(`${i}`.repeat(1000));
  },
  concatenation() {
    let text = "seed";
    for (let i = 0; ; i++) {
      text += text.slice(0, 1 << 20) + i;
      if (text.length > 1 << 24) {
        kept.push([...text.slice(0, 1 << 16)].join("") + i, text);
        text = "seed";
      }
    }
  },
  spread() {
    let list = [1, 2, 3];
    for (;;) {
      list = [...list, ...list.slice(0, 1 << 16)];
      kept.push(list.slice(0, 1 << 16));
    }
  },
  map_function() {
    const list = new Array(10000).fill(0);
    for (;;) kept.push(list.map((_, i) => ({ i })));
  },
  closures() {
    for (let i = 0; ; i++) kept.push(() => i);
  },
  array_buffers_large() {
    for (;;) kept.push(new ArrayBuffer(16 << 20));
  },
  array_buffers_small() {
    for (;;) kept.push(new ArrayBuffer(1 << 20));
  },
  async array_buffers_with_pauses() {
    for (;;) {
      kept.push(new Uint8Array(1 << 20).fill(1));
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  },
  typed_arrays() {
    for (;;) kept.push(new Float64Array(1 << 17));
  },
  resizable_buffer() {
    const buffer = new ArrayBuffer(0, { maxByteLength: 1 << 30 });
    for (let size = 1 << 20; ; size += 1 << 20) {
      buffer.resize(size);
      new Uint8Array(buffer).fill(1);
      kept.push({ size });
    }
  },
  wasm_memory() {
    const memory = new WebAssembly.Memory({ initial: 1 });
    for (;;) {
      memory.grow(16);
      kept.push(new Array(1000).fill(0));
    }
  },
  one_large_buffer() {
    kept.push(new Uint8Array(100 << 20).fill(1));
    return new Response("too much, and nothing said");
  },
  caught() {
    for (;;) {
      try {
        for (;;) kept.push(new Array(10000).fill({}));
      } catch {
        kept.push("caught");
      }
    }
  },
  caught_array_buffers() {
    for (;;) {
      try {
        for (;;) kept.push(new ArrayBuffer(4 << 20));
      } catch {
        kept.push("caught");
      }
    }
  },
  async blobs() {
    for (;;) {
      kept.push(new Blob([new Uint8Array(1 << 20)]));
      await null;
    }
  },
  encoded_text() {
    const encoder = new TextEncoder();
    const text = "x".repeat(1 << 20);
    for (;;) kept.push(encoder.encode(text));
  },
  async streams() {
    const stream = new ReadableStream({
      start(controller) {
        for (;;) controller.enqueue(new Uint8Array(1 << 20));
      },
    });
    return new Response(stream);
  },
  async within() {
    // In limit, and let go again: many times the limit in all.
    let sum = 0;
    for (let i = 0; i < 100; i++) {
      sum += new Uint8Array(10 << 20).fill(1)[i];
      sum += new Array(100000).fill(1)[i];
    }
    return new Response(`${sum}`);
  },
  within_20_mb: () => new Response(`${new Uint8Array(20 << 20).length}`),
  ok: () => new Response("fine"),
};

export default { fetch: (request) => ways[new URL(request.url).pathname.slice(1)]() };
