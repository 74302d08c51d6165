// Each chunk has the CPU limit to itself: all of them together take longer.
const burn = (ms) => { for (const start = performance.now(); performance.now() - start < ms;); };
export default {
  fetch() {
    let left = 10;
    return new Response(new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        burn(150);
        controller.enqueue(new TextEncoder().encode("."));
        if (--left === 0) controller.close();
      },
    }));
  },
};
