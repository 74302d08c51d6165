// One app: its versions and what can be done with them, its secrets, its tokens, and tasks.

import { ApiError, app as path, get, send } from "../parts/api.js";
import { badge, tag } from "../parts/badge.js";
import { ask } from "../parts/dialog.js";
import { el, setText } from "../parts/dom.js";
import { good } from "../parts/notices.js";
import { poll } from "../parts/poll.js";
import { table } from "../parts/table.js";
import { visible } from "../parts/visible.js";
import { secrets } from "./secrets.js";
import { task } from "./task.js";
import { tokens } from "./tokens.js";
import { upload } from "./upload.js";

export function app(main, signal, name) {
  const failed = el("p", { class: "error", role: "alert" });
  const summary = el("p", { class: "hint" });
  const removeAll = button("Delete uploads…", "button danger", () => remove(name, null, look));
  const tasks = task(name);
  const versions = table({
    label: "Versions",
    cards: true,
    empty: "No versions.",
    key: ({ version }) => version,
    columns: [
      {
        label: "Version",
        show: ({ version, active }) => (active ? el("span", {}, version, " ", tag("active")) : version),
      },
      { label: "State", show: state },
      { label: "Kind", show: ({ kind }) => kind },
      { label: "Source", show: source },
      { label: "Hosts", show: ({ hosts = [] }) => hosts.join(", ") },
      { label: "Crons", show: ({ crons = [] }) => (crons.length ? el("div", {}, crons.map(cron)) : "") },
      { label: "Actions", quiet: true, show: (version) => actions(name, version, look) },
    ],
  });
  const deeds = el(
    "div",
    { class: "actions" },
    button("Upload a version…", "button", () => upload({ name }).then(look)),
    button("Roll back…", "button", () => rollBack(name, look)),
    removeAll,
  );
  const all = el(
    "div",
    { class: "sections" },
    summary,
    el("section", { class: "panel", "aria-label": "Versions" }, el("h2", {}, "Versions"), versions.element),
    el("div", { class: "pair" }, secrets(name, signal), tokens(name, signal)),
    tasks,
  );
  const heading = el("h1", {}, el("span", { class: "crumb" }, el("a", { href: "#/apps" }, "Apps"), " / "), name);
  main.append(el("div", { class: "head" }, heading, deeds), failed, all);

  async function look() {
    try {
      const answer = await get(path(name), signal);
      failed.textContent = "";
      all.hidden = deeds.hidden = false;
      setText(
        summary,
        `Owner ${answer.owner}. ${answer.active === null ? "No version is active." : `/${name} is ${answer.active}.`}`,
      );
      versions.update(answer.versions);
      removeAll.hidden = !answer.versions.some(({ source }) => source === "upload");
      tasks.hidden = !answer.versions.some(({ active, kind }) => active && kind === "worker");
    } catch (error) {
      if (signal.aborted) return;
      // The app does not exist (any more), so there are no actions.
      if (error instanceof ApiError && error.code === "no_app") all.hidden = deeds.hidden = true;
      setText(failed, error.message);
    }
  }
  poll(signal, 5, look);
}

function button(label, kind, click, name = null) {
  return el("button", { type: "button", class: kind, click, "aria-label": name }, label);
}

function state({ state, error, warnings = [] }) {
  return el(
    "div",
    {},
    badge(state),
    error === undefined ? null : el("p", { class: "below error" }, visible(error)),
    warnings.map((warning) => el("p", { class: "below warn" }, visible(warning))),
  );
}

function cron(expression) {
  return el("div", { class: "mono whole" }, expression);
}

function source({ source, revision, revisions, folder }) {
  const what = source === "upload" ? `upload, revision ${revision} (${revisions} kept)` : "folder";
  return el("div", {}, what, el("div", { class: "faint mono" }, folder));
}

function actions(name, { version, active, state, source }, changed) {
  return el(
    "div",
    { class: "actions" },
    state === "served" && !active
      ? button("Activate…", "button small", () => activate(name, version, changed), `Activate ${version}`)
      : null,
    source === "upload"
      ? button("Delete…", "button small danger", () => remove(name, version, changed), `Delete ${version}`)
      : null,
  );
}

async function activate(name, version, changed) {
  const done = await ask({
    title: `Activate ${name}@${version}?`,
    body: el("p", {}, `Requests for ${name} without a version go to ${version} from then on. Roll back undoes it.`),
    yes: "Activate",
    act: () => send("POST", path(name, `/activate?version=${encodeURIComponent(version)}`)),
  });
  if (done) good(`${name}@${done.active} is active.`);
  await changed();
}

async function rollBack(name, changed) {
  const done = await ask({
    title: `Roll ${name} back?`,
    body: el("p", {}, "What was active before, or the revision before the last upload, is served again."),
    yes: "Roll back",
    danger: true,
    act: () => send("POST", path(name, "/rollback")),
  });
  if (done) good(`${name} is back at ${done.active}${done.revision === null ? "" : `, revision ${done.revision}`}.`);
  await changed();
}

async function remove(name, version, changed) {
  const what = version === null ? `all uploads of ${name}` : `${name}@${version}`;
  const query = version === null ? "" : `?version=${encodeURIComponent(version)}`;
  const done = await ask({
    title: `Delete ${what}?`,
    body: el("p", {}, "Every revision goes with it. Requests in flight finish; this cannot be undone."),
    yes: "Delete",
    danger: true,
    act: () => send("DELETE", path(name, query)),
  });
  if (done) good(`Deleted: ${done.deleted.map((one) => `${name}@${one}`).join(", ")}.`);
  await changed();
}
