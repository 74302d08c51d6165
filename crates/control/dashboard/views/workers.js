// All workers, with their counters and memory.

import { get } from "../parts/api.js";
import { badge } from "../parts/badge.js";
import { el, field, setText } from "../parts/dom.js";
import { NONE, bytes, count, millis, plural, span } from "../parts/format.js";
import { poll } from "../parts/poll.js";
import { table } from "../parts/table.js";

export function workers(main, signal) {
  let all = [];
  const failed = el("p", { class: "error", role: "alert" });
  const app = el("select", { "data-filter": true, change: () => draw() }, el("option", { value: "" }, "All apps"));
  // Not read out by screen readers: it changes all the time.
  const summary = el("p", { class: "hint" });
  const number = (label, of, show) => ({ label, number: true, value: of, show: (row) => show(of(row)) });
  const list = table({
    label: "Workers",
    empty: "No workers.",
    key: ({ id }) => id,
    sort: [0, "ascending"],
    columns: [
      { label: "App", value: (row) => `${row.app}@${row.version}`, show: (row) => `${row.app}@${row.version}` },
      { label: "Worker", value: (row) => row.id, show: (row) => el("code", {}, row.id) },
      { label: "Status", value: (row) => row.status, show: status },
      number("Memory", (row) => row.memoryBytes, bytes),
      number("Age", (row) => row.ageMs, span),
      number(
        "Idle",
        (row) => row.idleMs,
        (time) => (time === 0 ? NONE : span(time)),
      ),
      number("Requests", (row) => row.requestCount, count),
      number("Errors", (row) => row.errorCount, count),
      number("Average", (row) => row.avgResponseTimeMs, millis),
      number("Total", (row) => row.totalResponseTimeMs, span),
    ],
  });
  main.append(
    el("div", { class: "head" }, el("h1", {}, "Workers")),
    failed,
    el("div", { class: "bar" }, field("App", app), summary),
    el("section", { class: "panel", "aria-label": "Workers" }, list.element),
  );

  function draw() {
    const names = [...new Set(all.map((row) => row.app))].sort();
    const known = [...app.options].slice(1).map(({ value }) => value);
    // The selected app stays an option when its last worker is gone.
    const wanted = app.value && !names.includes(app.value) ? [...names, app.value].sort() : names;
    if (wanted.join("\n") !== known.join("\n")) {
      const chosen = app.value;
      app.replaceChildren(app.options[0], ...wanted.map((name) => el("option", { value: name }, name)));
      app.value = chosen;
    }
    const shown = all.filter((row) => app.value === "" || row.app === app.value);
    list.update(shown);
    const memory = shown.reduce((sum, row) => sum + row.memoryBytes, 0);
    const busy = shown.filter((row) => row.status === "active" && row.idleMs === 0).length;
    setText(summary, `${plural(shown.length, "worker")}, ${count(busy)} at work, ${bytes(memory)}`);
  }

  poll(signal, 2, async () => {
    try {
      all = await get("/admin/workers", signal);
      failed.textContent = "";
      draw();
    } catch (error) {
      if (!signal.aborted) setText(failed, error.message);
    }
  });
}

function status({ status, state }) {
  return state === "ready" ? badge(status) : el("span", {}, badge(status), ` ${state}`);
}
