export default {
  async fetch(request) {
    const url = new URL(request.url);
    return Response.json({
      method: request.method,
      path: url.pathname,
      query: url.searchParams.get("q"),
      host: url.host,
      custom: request.headers.get("X-Custom"),
      body: await request.text(),
    });
  },
};
