// Code that takes all the memory it can get.
import { sleep, way } from "./common.js";

const ways = [
  (kept) => kept.push(new Array(1000).fill(kept.length)),
  (kept) => kept.push(new Uint8Array(1 << 20).fill(1)),
  (kept) => kept.push({ n: kept.length, text: `number ${kept.length}` }),
  (kept) => kept.push(`${kept.length}`.repeat(1000)),
];

export default {
  async fetch(request) {
    const [kept, take] = [[], ways[way(request) % ways.length]];
    // Half of the ways allocate over many turns.
    const gently = way(request) >= ways.length;
    for (let n = 0; ; n++) {
      take(kept);
      if (gently && n % 1000 === 0) await sleep(0);
    }
  },
};
