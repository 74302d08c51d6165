// What V8 and ICU hold outside of V8's heap.
const kept = [];
const module = (number) => new Uint8Array([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
  1, 4, 1, 0x60, 0, 0, // () -> ()
  3, 2, 1, 0,
  7, 5, 1, 1, 0x66, 0, 0, // as "f"
  10, 4, 1, 2, 0, 0x0b,
  0, 4, 1, 0x78, number & 127, (number >> 7) & 127, // so that no two are the same
]);
let made = 0;
const ways = {
  dates: () => new Intl.DateTimeFormat("ar-EG-u-ca-islamic-nu-arab", { dateStyle: "full", timeStyle: "full" }),
  numbers: () => new Intl.NumberFormat("de", { style: "currency", currency: "EUR" }),
  collators: () => new Intl.Collator("sv"),
  modules: () => new WebAssembly.Instance(new WebAssembly.Module(module(made++))),
};
export default {
  fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    const make = ways[pathname.slice(1)];
    if (!make) return new Response("fine");
    const count = searchParams.has("many") ? 10_000 : 200;
    for (let i = 0; i < count; i++) {
      const one = make();
      if (searchParams.has("keep")) kept.push(one);
    }
    return new Response(String(kept.length));
  },
};
