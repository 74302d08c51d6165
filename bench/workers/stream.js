// 1 MiB in 64 chunks of 16 KiB.
const chunk = new Uint8Array(16384).fill(120);

export default {
  fetch() {
    let sent = 0;
    return new Response(new ReadableStream({
      pull(controller) {
        if (sent++ < 64) controller.enqueue(chunk);
        else controller.close();
      },
    }));
  },
};
