// Overview of the server: current numbers, charts of the last five minutes, what needs attention, and traffic by app.

import { get, getText } from "../parts/api.js";
import { chart } from "../parts/chart.js";
import { el, setText } from "../parts/dom.js";
import { NONE, bytes, count, millis, percent, rate, span } from "../parts/format.js";
import { live } from "../parts/live.js";
import { poll } from "../parts/poll.js";
import { Recent } from "../parts/recent.js";
import { table } from "../parts/table.js";
import { attention } from "./attention.js";

/** Samples of the latency chart; kept between visits of the view. */
let times = [];
const HISTORY = 5 * 60_000;

export function overview(main, signal) {
  const tiles = {};
  const tile = (name, label) => {
    tiles[name] = { value: el("dd", { class: "value" }, NONE), sub: el("dd", { class: "sub" }) };
    return el("div", { class: "tile" }, el("dt", {}, label), tiles[name].value, tiles[name].sub);
  };
  const say = (name, value, sub = "") => {
    setText(tiles[name].value, value);
    setText(tiles[name].sub, sub);
  };
  const pace = chart({
    label: "Requests per second",
    series: [{ name: "", of: (sample) => sample.requestsPerSecond }],
    format: rate,
  });
  const latency = chart({
    label: "Time to answer",
    series: [
      { name: "p50", of: (sample) => sample.p50 },
      { name: "p99", of: (sample) => sample.p99 },
    ],
    format: millis,
  });
  const traffic = appsByTraffic();
  const failed = el("p", { class: "error", role: "alert" });
  main.append(
    el("div", { class: "head" }, el("h1", {}, "Overview")),
    failed,
    el(
      "dl",
      { class: "tiles" },
      tile("rate", "Requests per second"),
      tile("latency", "Average latency"),
      tile("quantiles", "p50 / p99"),
      tile("errors", "Errors (5xx)"),
      tile("hits", "Hit rate"),
      tile("workers", "Warm workers"),
      tile("queue", "Running / queued"),
      tile("memory", "Memory"),
      tile("spares", "Spare isolates"),
      tile("uptime", "Uptime"),
    ),
    el("div", { class: "pair" }, pace.element, latency.element),
    attention(signal),
    el(
      "section",
      { class: "panel", "aria-label": "Apps by traffic" },
      el("h2", {}, "Apps by traffic"),
      traffic.element,
    ),
  );

  const sampled = () => {
    pace.update(live.samples);
    const now = live.last;
    if (!now) return;
    say("rate", rate(now.requestsPerSecond), `${count(now.totalRequests)} since the start`);
    say("latency", millis(now.avgResponseTimeMs), "last 100 requests");
    say("hits", percent(now.hitRate), `${count(now.hits)} warm, ${count(now.misses)} cold`);
    say("uptime", span(now.uptimeMs), "since the server started");
  };
  live.addEventListener("sample", sampled, { signal });
  sampled();

  const recent = new Recent();
  poll(signal, 2, async () => {
    try {
      const [text, pool] = await Promise.all([getText("/metrics", signal), get("/admin/pool", signal)]);
      const time = Date.now();
      recent.read(text, time);
      const total = recent.total();
      const { p50, p99, since } = total;
      times = [
        ...times.filter((one) => one.time > time - HISTORY),
        { time, p50: since === "minute" ? p50 : NaN, p99: since === "minute" ? p99 : NaN },
      ];
      latency.update(times);
      traffic.update(recent.apps());
      say("quantiles", pairOf(p50, p99), since === "minute" ? "last minute" : "since the start");
      say(
        "errors",
        count(total.errors),
        Number.isFinite(total.errorRate) ? `${rate(total.errorRate)} per second now` : "",
      );
      say("workers", count(pool.cached), `room for ${count(pool.capacity)} more`);
      say(
        "queue",
        `${count(pool.running)} / ${count(pool.queued)}`,
        pool.queued > 0 ? "requests wait for their turn" : "nothing waits",
      );
      const { heaps, buffers, budget } = pool.memory;
      say(
        "memory",
        bytes(live.last ? live.last.memoryUsageMB * 2 ** 20 : NaN),
        `JavaScript ${bytes(heaps + buffers)} of ${bytes(budget)}`,
      );
      say("spares", `${count(pool.spares.ready)} of ${count(pool.spares.wanted)}`, `${count(pool.live)} isolates live`);
      failed.textContent = "";
    } catch (error) {
      if (!signal.aborted) setText(failed, error.message);
    }
  });
}

/** Two durations, with one unit if both have the same. */
function pairOf(a, b) {
  const [first, second] = [millis(a), millis(b)];
  const unit = first.split(" ")[1];
  return second.endsWith(` ${unit}`) ? `${first.split(" ")[0]} / ${second}` : `${first} / ${second}`;
}

function appsByTraffic() {
  return table({
    label: "Apps by traffic",
    cards: true,
    empty: "No app has had a request yet.",
    key: ({ app, version }) => `${app}@${version}`,
    sort: [1, "descending"],
    columns: [
      {
        label: "App",
        value: (row) => row.app,
        show: (row) => el("a", { href: `#/apps/${encodeURIComponent(row.app)}` }, `${row.app}@${row.version}`),
      },
      { label: "Per second", number: true, value: (row) => row.rate, show: (row) => rate(row.rate) },
      { label: "Requests", number: true, value: (row) => row.requests, show: (row) => count(row.requests) },
      { label: "Errors (5xx)", number: true, value: (row) => row.errors, show: (row) => count(row.errors) },
      { label: "p50", number: true, value: (row) => row.p50, show: (row) => millis(row.p50) },
      { label: "p99", number: true, value: (row) => row.p99, show: (row) => millis(row.p99) },
      { label: "In flight", number: true, value: (row) => row.inFlight, show: (row) => count(row.inFlight) },
    ],
  });
}
