// Handlers that fail, in the ways there are.
import { sleep, way } from "./common.js";

const ways = [
  () => {
    throw new Error("thrown");
  },
  async () => {
    await sleep(2);
    throw new Error("rejected");
  },
  () => "no response",
  () => new Response("", { status: 42 }),
  () => {
    throw null;
  },
];

export default { fetch: (request) => ways[way(request)]() };
