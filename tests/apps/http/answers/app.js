const body = () => new ReadableStream({
  start(controller) {
    controller.enqueue(new TextEncoder().encode("streamed"));
    controller.close();
  },
});
const answers = {
  "/text": () => new Response("some text"),
  "/stream": () => new Response(body()),
  "/no_content": () => new Response(null, { status: 204 }),
  "/not_modified": () => new Response(null, { status: 304, headers: { etag: '"1"' } }),
  "/not_found": () => new Response("nothing", { status: 404 }),
  "/length": () => new Response(null, { headers: { "content-length": "1234" } }),
  "/cookies": () => {
    const headers = new Headers();
    headers.append("set-cookie", "a=1; Path=/");
    headers.append("set-cookie", "b=2, still b");
    headers.append("x-joined", "1");
    headers.append("x-joined", "2");
    return new Response("cookies", { headers });
  },
  "/many_headers": () => new Response("many", {
    headers: Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`x-header-${i}`, "v"])),
  }),
  "/large_header": () => new Response("large", { headers: { "x-large": "v".repeat(20000) } }),
  "/body": async (request) => new Response(`${(await request.arrayBuffer()).byteLength}`),
  "/ignore": () => new Response("ignored"),
};
export default { fetch: (request) => answers[new URL(request.url).pathname](request) };
