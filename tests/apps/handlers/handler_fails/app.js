const ways = {
  "/reject": () => Promise.reject(new TypeError("rejected")),
  "/string": () => { throw "just text"; },
  "/null": () => { throw null; },
  "/undefined": () => undefined,
  "/object": () => ({ status: 200 }),
  "/getter": () => { throw { get message() { throw new Error("nested"); } }; },
  "/error_response": () => Response.error(),
  "/ok": () => new Response("fine"),
};
export default { fetch: (request) => ways[new URL(request.url).pathname]() };
