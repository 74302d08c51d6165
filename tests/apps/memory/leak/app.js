// Each request leaves 200 KB behind.
const kept = [];
export default {
  fetch() {
    kept.push(Array.from({ length: 25_000 }, (_, i) => i + 0.5));
    return new Response(String(kept.length));
  },
};
