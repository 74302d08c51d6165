export default {
  async fetch(request) {
    const body = await request.json();
    body.added = "by the worker";
    return Response.json(body);
  },
};
