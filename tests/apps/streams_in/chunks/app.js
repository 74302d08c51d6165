// Tells of every chunk as it comes.
export default {
  fetch(request) {
    const reader = request.body.getReader();
    const encoder = new TextEncoder(), decoder = new TextDecoder();
    let seen = 0;
    return new Response(new ReadableStream({
      async pull(controller) {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(encoder.encode(`${++seen}:${decoder.decode(value)}`));
        controller.enqueue(encoder.encode(`${seen} chunks`));
        controller.close();
      },
    }));
  },
};
