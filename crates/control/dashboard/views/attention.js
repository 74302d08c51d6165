// What needs the operator's attention: versions that are not served, folders that are no apps, stuck owners, and cells that
// were lost in the last day.

import { get } from "../parts/api.js";
import { badge } from "../parts/badge.js";
import { el } from "../parts/dom.js";
import { clock } from "../parts/format.js";
import { poll } from "../parts/poll.js";
import { visible } from "../parts/visible.js";

const DAY = 24 * 3600_000;

export function attention(signal) {
  const list = el("ul", { class: "list" });
  const none = el("p", { class: "empty" }, "Looking…");
  let said = "";
  poll(signal, 10, async () => {
    const [apps, pool, crashes] = await Promise.allSettled([
      get("/admin/apps", signal),
      get("/admin/pool", signal),
      get("/admin/crashes", signal),
    ]);
    if (signal.aborted) return;
    const found = [...ofApps(apps.value), ...ofPool(pool.value), ...ofCrashes(crashes.value)];
    const now = JSON.stringify(found);
    if (now === said) return;
    said = now;
    list.replaceChildren(...found.map(item));
    none.hidden = found.length > 0;
    none.textContent = "Nothing.";
  });
  return el(
    "section",
    { class: "panel", "aria-label": "Needs attention" },
    el("h2", {}, "Needs attention"),
    none,
    list,
  );
}

function item({ level, text, href, link }) {
  return el(
    "li",
    {},
    badge(level),
    el("span", { class: "what" }, visible(text)),
    href ? el("a", { href }, link) : null,
  );
}

function ofApps(answer) {
  if (!answer) return [];
  const problems = answer.problems.map(({ app, version, message }) => {
    const name = [app, version].filter(Boolean).join("@");
    return { level: "error", text: name ? `${name}: ${message}` : message };
  });
  const versions = answer.apps.flatMap(({ name, versions }) => versions.map((version) => ({ name, ...version })));
  const link = (name) => ({ href: `#/apps/${encodeURIComponent(name)}`, link: name });
  return [
    ...problems,
    ...versions.flatMap(({ name, version, state, error, warnings = [] }) => [
      ...(state === "failed" ? [{ level: "error", text: `${name}@${version}: ${error}`, ...link(name) }] : []),
      ...warnings.map((text) => ({ level: "warn", text: `${name}@${version}: ${text}`, ...link(name) })),
    ]),
  ];
}

function ofPool(answer) {
  return (answer?.stuck ?? []).map((owner) => ({
    level: "error",
    text: `${owner} is stuck: its code does not come to an end`,
  }));
}

function ofCrashes(answer) {
  const recent = (answer?.crashes ?? []).filter(({ time }) => Date.now() - time < DAY);
  return recent.slice(0, 5).map(({ time, cell, status }) => ({
    level: "error",
    text: `cell ${cell} was lost at ${clock(time)}: ${status}`,
    href: "#/events",
    link: "crashes",
  }));
}
