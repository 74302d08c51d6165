export default {
  async fetch(request) {
    const copy = request.clone();
    const [a, b] = await Promise.all([request.text(), copy.arrayBuffer()]);
    return new Response(`${a.length} ${b.byteLength}`);
  },
};
