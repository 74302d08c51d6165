// All apps, with the active version and the states of the others. A file that is dropped here is uploaded.

import { get } from "../parts/api.js";
import { badge } from "../parts/badge.js";
import { el, field, setText } from "../parts/dom.js";
import { NONE, plural } from "../parts/format.js";
import { poll } from "../parts/poll.js";
import { table } from "../parts/table.js";
import { visible } from "../parts/visible.js";
import { acceptDrops, upload } from "./upload.js";

export function apps(main, signal) {
  let answer = { apps: [], problems: [] };
  const failed = el("p", { class: "error", role: "alert" });
  const problems = el("section", { class: "panel", "aria-label": "Problems", hidden: true });
  const filter = el("input", {
    type: "search",
    "data-filter": true,
    placeholder: "name, owner or host",
    input: () => draw(),
  });
  const summary = el("p", { class: "hint", role: "status" });
  const list = table({
    label: "Apps",
    cards: true,
    empty: "No apps.",
    key: ({ name }) => name,
    sort: [0, "ascending"],
    columns: [
      {
        label: "Name",
        value: (app) => app.name,
        show: (app) => el("a", { href: `#/apps/${encodeURIComponent(app.name)}` }, app.name),
      },
      { label: "Active", value: (app) => app.active ?? "", show: (app) => app.active ?? NONE },
      { label: "State", value: state, show: (app) => badge(state(app)) },
      {
        label: "Versions",
        number: true,
        value: (app) => app.versions.length,
        show: (app) => String(app.versions.length),
      },
      { label: "Owner", value: (app) => app.owner, show: (app) => app.owner },
      { label: "Hosts", show: (app) => all(app, "hosts").join(", ") },
      { label: "Crons", show: (app) => all(app, "crons").join(", ") },
      { label: "Notes", show: notes },
    ],
  });
  main.append(
    el(
      "div",
      { class: "head" },
      el("h1", {}, "Apps"),
      el("button", { type: "button", class: "button primary", click: () => upload({}).then(look) }, "Upload…"),
    ),
    failed,
    problems,
    el("div", { class: "bar" }, field("Filter", filter, { grow: true }), summary),
    el("section", { class: "panel", "aria-label": "Apps" }, list.element),
    el("p", { class: "hint" }, "Drop a .tgz or .zip anywhere on this page to upload it."),
  );
  acceptDrops(main, signal, (file) => upload({ file }).then(look));

  function draw() {
    const text = filter.value.trim().toLowerCase();
    const matches = (app) =>
      [app.name, app.owner, ...all(app, "hosts")].some((word) => word.toLowerCase().includes(text));
    const shown = answer.apps.filter(matches);
    list.update(shown);
    const versions = shown.reduce((sum, app) => sum + app.versions.length, 0);
    setText(summary, `${plural(shown.length, "app")}, ${plural(versions, "version")}`);
  }

  async function look() {
    try {
      answer = await get("/admin/apps", signal);
      failed.textContent = "";
      const items = answer.problems.map(({ app, version, message }) => {
        const name = [app, version].filter(Boolean).join("@");
        return el(
          "li",
          {},
          badge("error"),
          el("span", { class: "what" }, visible(name ? `${name}: ${message}` : message)),
        );
      });
      problems.hidden = items.length === 0;
      problems.replaceChildren(el("h2", {}, "Not served"), el("ul", { class: "list" }, items));
      draw();
    } catch (error) {
      if (!signal.aborted) setText(failed, error.message);
    }
  }
  poll(signal, 5, look);
}

/** The state of the active version, or the worst state if none is active. */
function state({ active, versions }) {
  if (active !== null) return "served";
  return ["failed", "installing"].find((state) => versions.some((version) => version.state === state)) ?? "served";
}

function all({ versions }, key) {
  return [...new Set(versions.flatMap((version) => version[key] ?? []))];
}

function notes({ versions }) {
  const warnings = versions.reduce((sum, { warnings = [] }) => sum + warnings.length, 0);
  const errors = versions.filter(({ error }) => error !== undefined).length;
  return [errors && plural(errors, "error"), warnings && plural(warnings, "warning")].filter(Boolean).join(", ");
}
