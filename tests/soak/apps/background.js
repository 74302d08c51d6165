// What goes on after the response: timers, what never ends, what fails, and what runs away.
import { answer, sleep, way } from "./common.js";

const ways = [
  async () => {
    for (let n = 0; n < 4; n++) await sleep(Math.random() * 20);
  },
  () => new Promise(() => {}),
  () => Promise.reject(new Error("lost in the background")),
  async () => {
    await sleep(1);
    for (;;);
  },
];

export default {
  fetch(request, env, ctx) {
    ctx.waitUntil(ways[way(request)]());
    return answer(request);
  },
};
