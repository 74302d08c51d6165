// Requests that only wait.
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const ways = {
  never: (request) => {
    request.signal.addEventListener("abort", () => console.log("aborted with", request.signal.reason.name, request.signal.reason.message));
    return new Promise(() => {});
  },
  async sleeps() {
    for (;;) await sleep(10);
  },
  async sleeps_1500_ms() {
    await sleep(1500);
    return new Response("slept");
  },
  body: async (request) => new Response(await request.text()),
  loop: () => { for (;;); },
  ok: () => new Response("fine"),
};
export default { fetch: (request) => ways[new URL(request.url).pathname.slice(1)](request) };
