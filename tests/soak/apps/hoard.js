// Keeps something of each request: alone it is within its limit for a while, many of them are not within theirs.
import { answer, way } from "./common.js";

const kept = [];
const ways = [
  () => new Uint8Array(4 << 20).fill(1),
  () => Array.from({ length: 30 }, (_, n) => new Array(16384).fill(n + 0.5)),
];

export default {
  fetch(request) {
    kept.push(ways[way(request)]());
    return answer(request);
  },
};
