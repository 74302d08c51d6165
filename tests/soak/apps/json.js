// Large JSON, in and out.
import { answer, mark } from "./common.js";

export default {
  async fetch(request) {
    const { items } = await request.json();
    return answer(request, JSON.stringify({ mark: mark(request), items: items.reverse() }));
  },
};
