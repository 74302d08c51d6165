// Reads what another server sends, and passes each chunk on, marked.
export default {
  async fetch(request, env) {
    const response = await fetch(env.BACKEND);
    const marked = new TransformStream({
      transform(chunk, controller) {
        controller.enqueue(new TextEncoder().encode(`[${new TextDecoder().decode(chunk)}]`));
      },
    });
    return new Response(response.body.pipeThrough(marked), response);
  },
};
