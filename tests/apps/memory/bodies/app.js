// Large answers, and answers that are collected from elsewhere.
const reading = {
  text: async (response) => (await response.text()).length,
  json: (response) => response.json(),
  bytes: async (response) => (await response.bytes()).length,
  arrayBuffer: async (response) => (await response.arrayBuffer()).byteLength,
  blob: async (response) => (await response.blob()).size,
};
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "/large") return new Response(new Uint8Array(16 << 20));
    const read = reading[pathname.slice(1)];
    if (!read) return new Response("fine");
    try {
      return new Response(String(await read(await fetch(env.BACKEND))));
    } catch (error) {
      return new Response(`${error.name}: ${error.message}`);
    }
  },
};
