export default {
  fetch: (request) => new Response(request.body, { headers: { "content-type": "application/octet-stream" } }),
};
