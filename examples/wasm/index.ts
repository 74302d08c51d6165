// WebAssembly: add.wasm was made from add.wat. Try /?a=1&b=2
import module from "./add.wasm";

const { add } = new WebAssembly.Instance(module).exports as { add(a: number, b: number): number };

export default {
  fetch(request: Request): Response {
    const { searchParams } = new URL(request.url);
    const [a, b] = ["a", "b"].map((name) => Number(searchParams.get(name) ?? 21));
    return new Response(`${a} + ${b} = ${add(a, b)}\n`);
  },
};
