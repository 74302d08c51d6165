// 100 chunks of 1 KB, with emoji that are split over their borders.
const bytes = new TextEncoder().encode("a" + "🔥".repeat(25600));
export default {
  fetch(request) {
    let at = 0;
    const push = new URL(request.url).pathname === "/start";
    return new Response(new ReadableStream({
      start(controller) {
        if (!push) return;
        for (; at < 102400; at += 1024) controller.enqueue(bytes.slice(at, at + 1024));
        controller.close();
      },
      pull(controller) {
        controller.enqueue(bytes.slice(at, at += 1024));
        if (at >= 102400) controller.close();
      },
    }));
  },
};
