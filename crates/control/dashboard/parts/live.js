// Polls the server's numbers every two seconds in all views, and keeps those of the last minutes for the charts.

import { get } from "./api.js";
import { poll } from "./poll.js";

const EVERY = 2;
const HISTORY = 5 * 60_000;

class Live extends EventTarget {
  /** The newest last: `{ time, ...}` as /admin/metrics has it. */
  samples = [];

  get last() {
    return this.samples.at(-1);
  }

  start(signal) {
    this.samples = [];
    poll(signal, EVERY, async () => {
      try {
        const sample = { time: Date.now(), ...(await get("/admin/metrics", signal)) };
        this.samples = [...this.samples.filter(({ time }) => time > sample.time - HISTORY), sample];
        this.dispatchEvent(new Event("sample"));
      } catch {
        // The banner or the login shows the error; polling goes on.
      }
    });
  }
}

export const live = new Live();
