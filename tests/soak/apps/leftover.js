// Leaves everything behind: timers near and far, a stream without a reader, a promise that is never settled.
import { answer, sleep } from "./common.js";

const kept = new Set();

export default {
  fetch(request) {
    setInterval(() => kept.clear(), 1);
    setTimeout(() => kept.add(request.url), 60_000);
    sleep(30).then(() => kept.add(request.url));
    new ReadableStream({ pull: (controller) => sleep(5).then(() => controller.enqueue("tick")) });
    new Promise(() => {}).then(() => kept.clear());
    return answer(request);
  },
};
