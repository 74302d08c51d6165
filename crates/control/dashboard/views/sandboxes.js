// All sandboxes in use, with their actions, and the pool that new ones come from.

import { get, send } from "../parts/api.js";
import { badge } from "../parts/badge.js";
import { ask } from "../parts/dialog.js";
import { el, setText } from "../parts/dom.js";
import { NONE, bytes, count, percent, span } from "../parts/format.js";
import { good } from "../parts/notices.js";
import { poll } from "../parts/poll.js";
import { table } from "../parts/table.js";
import { visible } from "../parts/visible.js";

export function sandboxes(main, signal) {
  const failed = el("p", { class: "error", role: "alert" });
  const health = el("p", { class: "error", role: "alert" });
  const tiles = {};
  const tile = (name, label) => {
    tiles[name] = { value: el("dd", { class: "value" }, NONE), sub: el("dd", { class: "sub" }) };
    return el("div", { class: "tile" }, el("dt", {}, label), tiles[name].value, tiles[name].sub);
  };
  const say = (name, value, sub) => {
    setText(tiles[name].value, value);
    setText(tiles[name].sub, sub);
  };
  const list = table({
    label: "Sandboxes",
    cards: true,
    empty: "No sandbox is in use.",
    key: ({ sandbox_id }) => sandbox_id,
    sort: [4, "ascending"],
    columns: [
      { label: "Sandbox", value: (row) => row.sandbox_id, show: (row) => el("code", {}, row.sandbox_id) },
      { label: "Owner", value: (row) => row.owner, show: (row) => row.owner },
      { label: "State", value: (row) => row.state, show: (row) => badge(row.state) },
      { label: "Kind", value: (row) => row.driver, show: kind },
      number("Age", (row) => row.age_ms, span),
      number(
        "Idle",
        (row) => row.idle_ms,
        (time) => (time === 0 ? "in use" : span(time)),
      ),
      number("Memory", (row) => row.memory_used, bytes),
      number("Jobs", (row) => row.jobs, count),
      { label: "Actions", quiet: true, show: (row) => actions(row, look) },
    ],
  });
  const all = el(
    "div",
    { class: "sections" },
    el(
      "dl",
      { class: "tiles", "aria-label": "Pool" },
      tile("held", "In use"),
      tile("ready", "Ready"),
      tile("hits", "Hit rate"),
      tile("boots", "Started"),
      tile("failed", "Failed to start"),
    ),
    el("section", { class: "panel", "aria-label": "Sandboxes" }, list.element),
  );
  main.append(el("div", { class: "head" }, el("h1", {}, "Sandboxes")), failed, health, all);

  async function look() {
    try {
      const [{ sandboxes }, stats] = await Promise.all([
        get("/admin/sandboxes", signal),
        get("/admin/sandboxes/stats", signal),
      ]);
      failed.textContent = "";
      all.hidden = false;
      list.update(sandboxes);
      setText(health, visible((stats.health.reasons ?? []).join("\n")));
      say("held", count(stats.held), `of at most ${count(stats.limit)}`);
      say("ready", count(stats.ready), stats.booting > 0 ? `${count(stats.booting)} being started` : "none being started");
      say("hits", percent(stats.hit_rate), `${count(stats.warm_hits)} warm, ${count(stats.cold_misses)} cold`);
      say("boots", count(stats.created), `${count(stats.destroyed)} destroyed, ${count(stats.live)} live`);
      say("failed", count(stats.failed), `${count(stats.unhealthy)} found broken`);
    } catch (error) {
      if (signal.aborted) return;
      // The error of a server without sandboxes says how to enable them.
      if (error.code === "no_sandboxes") all.hidden = true;
      setText(failed, error.message);
    }
  }
  poll(signal, 2, look);
}

function number(label, of, show) {
  return { label, number: true, value: of, show: (row) => show(of(row)) };
}

function kind({ driver, image, memory_mib, vcpu_count, network }) {
  const cpus = vcpu_count === 1 ? "1 CPU" : `${vcpu_count} CPUs`;
  const what = `${image}, ${memory_mib} MB, ${cpus}, network: ${network}`;
  return el("div", {}, driver, el("div", { class: "faint" }, what));
}

function actions({ sandbox_id }, changed) {
  const click = () => destroy(sandbox_id, changed);
  return el(
    "button",
    { type: "button", class: "button small danger", click, "aria-label": `Destroy ${sandbox_id}` },
    "Destroy…",
  );
}

async function destroy(id, changed) {
  const done = await ask({
    title: `Destroy ${id}?`,
    body: el("p", {}, "What runs in it ends, and its files are gone. This cannot be undone."),
    yes: "Destroy",
    danger: true,
    act: () => send("DELETE", `/admin/sandboxes/${encodeURIComponent(id)}`),
  });
  if (done) good(`${id} is destroyed.`);
  await changed();
}
