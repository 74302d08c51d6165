// Code that runs away: in its handler, after it, and in the middle of a response.
import { answer, sleep, way } from "./common.js";

const storm = () => Promise.resolve().then(storm);
const forever = () => {
  for (;;);
};
const begun = (request) => new Response(new ReadableStream({
  async pull(controller) {
    controller.enqueue(new TextEncoder().encode("begun"));
    await sleep(1);
    forever();
  },
}), { headers: answer(request).headers });

const ways = [
  forever,
  storm,
  () => sleep(1).then(forever),
  () => new Promise(() => setTimeout(forever, 1)),
  begun,
];

export default { fetch: (request) => ways[way(request)](request) };
