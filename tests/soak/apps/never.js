// Requests that are never answered.
import { sleep, way } from "./common.js";

const ways = [
  () => new Promise(() => {}),
  () => sleep(60_000),
  async () => {
    for (;;) await sleep(20);
  },
];

export default { fetch: (request) => ways[way(request)]() };
