const answers = {
  "/created": () => new Response("made", { status: 201, statusText: "Made", headers: { "x-custom": "yes", "content-type": "text/css" } }),
  "/empty": () => new Response(),
  "/empty_text": () => new Response(""),
  "/bytes": () => new Response(new Uint8Array([0, 255, 10])),
  "/json": () => Response.json({ a: [1, "ü"] }),
  "/redirect": () => Response.redirect("https://example.com/there", 307),
  "/blob": () => new Response(new Blob(["blobs"], { type: "text/x-blob" })),
  "/params": () => new Response(new URLSearchParams({ a: "1 2" })),
};
export default { fetch: (request) => answers[new URL(request.url).pathname]() };
