// A stream made of a stream made of a stream.
const encoder = new TextEncoder();
export default {
  fetch() {
    let n = 0;
    const inner = new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        if (n === 5) controller.close();
        else controller.enqueue(n++);
      },
    });
    const middle = inner.pipeThrough(new TransformStream({
      async transform(number, controller) {
        await null;
        controller.enqueue(`<${number}>`);
      },
      flush: (controller) => controller.enqueue("end"),
    }));
    const reader = middle.getReader();
    return new Response(new ReadableStream({
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
    }));
  },
};
