const text = "0123456789abcdef".repeat(64 * 1024);
export default {
  fetch(request) {
    if (request.url.endsWith("/json")) return Response.json({ text });
    return new Response(text);
  },
};
