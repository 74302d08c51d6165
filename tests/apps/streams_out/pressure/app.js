// An endless stream: how much of it is made depends on how much is read.
let made = 0;
const piece = new Uint8Array(64 * 1024);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export default {
  async fetch(request) {
    if (request.url.endsWith("/endless")) {
      return new Response(new ReadableStream({
        pull(controller) {
          made += piece.length;
          controller.enqueue(piece.slice());
        },
      }));
    }
    for (let before = -1; before !== made; await sleep(200)) before = made;
    return new Response(`${made}`);
  },
};
