// Events: warnings and errors of the log, deploys and other events, and lost cells.

import { get } from "../parts/api.js";
import { badge } from "../parts/badge.js";
import { el, setText } from "../parts/dom.js";
import { clock, plural } from "../parts/format.js";
import { line, wanted } from "../parts/line.js";
import { poll } from "../parts/poll.js";
import { follow } from "../parts/stream.js";
import { visible } from "../parts/visible.js";

const MAX_ITEMS = 200;
/** Earlier lines of the log that are searched for errors. */
const BEFORE = 1000;

export function events(main, signal) {
  main.append(
    el("div", { class: "head" }, el("h1", {}, "Events")),
    errors(signal),
    el("div", { class: "pair" }, happenings(signal), crashes(signal)),
  );
}

function panel(title, ...content) {
  return el("section", { class: "panel", "aria-label": title }, el("h2", {}, title), ...content);
}

/** The newest first. */
function errors(signal) {
  const list = el("div", {
    class: "lines",
    role: "log",
    "aria-live": "off",
    "aria-label": "Warnings and errors",
    tabindex: "0",
    hidden: true,
  });
  const note = el("p", { class: "empty" }, "Looking…");
  const begin = () => {
    list.replaceChildren();
    list.hidden = true;
    note.hidden = false;
    setText(note, "No warnings and no errors.");
  };
  follow(signal, `/admin/logs?follow=true&lines=${BEFORE}`, ["line"], {
    opened: begin,
    each: (_, item) => {
      if (!wanted(item, { level: "warn", text: "" })) return;
      list.prepend(line(item));
      if (list.childElementCount > MAX_ITEMS) list.lastElementChild.remove();
      list.hidden = false;
      note.hidden = true;
    },
    lost: () => {
      note.hidden = false;
      setText(note, "The stream is lost: trying again…");
    },
  });
  return panel("Recent warnings and errors", note, list);
}

/** The newest first. */
function happenings(signal) {
  const list = el("ol", { class: "list", "aria-label": "Events" });
  const note = el("p", { class: "empty" }, "Looking…");
  follow(signal, "/admin/events", ["event", "missed"], {
    opened: () => {
      list.replaceChildren();
      note.hidden = false;
      setText(note, "Nothing yet.");
    },
    each: (name, item) => {
      const event = name === "event" ? item : { time: Date.now(), event: "missed", missed: item };
      const [level, text] = describe(event);
      const when = el("time", { datetime: new Date(event.time).toISOString() }, clock(event.time));
      list.prepend(el("li", {}, when, badge(level), el("span", { class: "what" }, visible(text))));
      if (list.childElementCount > MAX_ITEMS) list.lastElementChild.remove();
      note.hidden = true;
    },
    lost: () => {
      note.hidden = false;
      setText(note, "The stream is lost: trying again…");
    },
  });
  return panel("Events", note, list);
}

/** Severity and text of an event. */
function describe(event) {
  const which = `${event.app}@${event.version}`;
  switch (event.event) {
    case "catalogue_changed": {
      const bad = event.problems > 0 ? `, ${plural(event.problems, "problem")}` : "";
      return [bad ? "warn" : "info", `${plural(event.apps, "app")} in ${plural(event.versions, "version")}${bad}`];
    }
    case "uploaded":
      return ["info", `${which} uploaded, revision ${event.revision}`];
    case "activated":
      return ["info", `${which} activated`];
    case "rolled_back":
      return ["warn", `${event.app} rolled back to ${event.version}`];
    case "deleted":
      return ["warn", event.version === null ? `all uploads of ${event.app} deleted` : `${which} deleted`];
    case "cron_failed":
      return ["error", `cron ${event.cron} of ${event.app} failed: ${event.message}`];
    case "installing":
      return ["info", `dependencies of ${which} are being installed`];
    case "install_failed":
      return ["error", `dependencies of ${which} could not be installed: ${event.message}`];
    case "cell_lost":
      return ["error", `cell ${event.cell} was lost: ${event.status}${culprit(event)}`];
    case "cell_replaced":
      return ["info", `cell ${event.cell} is replaced (${event.reason})`];
    case "cordoned":
      return ["warn", `${event.owner} has a cell of its own from now on (${event.why})`];
    case "released":
      return ["info", `${event.owner} is served by the main cells again`];
    case "draining":
      return ["warn", "the server is draining"];
    case "missed":
      return ["warn", `${plural(event.missed, "event")} came too fast and are missing here`];
    case "cell":
      if (event.kind === "stuck_began") return ["error", `${event.app} is stuck in request ${event.request}`];
      if (event.kind === "stuck_ended") return ["info", `${event.app} is no longer stuck in request ${event.request}`];
  }
  const { time, event: name, ...rest } = event;
  return ["info", `${name} ${JSON.stringify(rest)}`];
}

function crashes(signal) {
  const list = el("ol", { class: "list", "aria-label": "Cells that were lost" });
  const note = el("p", { class: "empty", role: "status" }, "Looking…");
  let said = "";
  poll(signal, 10, async () => {
    try {
      const { crashes } = await get("/admin/crashes", signal);
      note.hidden = crashes.length > 0;
      setText(note, "None were lost.");
      // Unchanged, so that opened details stay open.
      if (JSON.stringify(crashes) !== said) list.replaceChildren(...crashes.map(crash));
      said = JSON.stringify(crashes);
    } catch (error) {
      if (signal.aborted) return;
      note.hidden = false;
      setText(note, error.message);
    }
  });
  return panel("Lost cells", note, list);
}

/** The app that crashed a cell, if known. */
function culprit({ app, version, phase, request_id: request }) {
  if (app === undefined) return "";
  const when = [phase?.replace("_", " "), request && `request ${request}`].filter(Boolean).join(", ");
  return `, by ${visible(`${app}@${version}`)}${when ? ` (${visible(when)})` : ""}`;
}

function crash({ time, cell, status, last_words: words, ...rest }) {
  const text = words.map(visible).join("\n");
  return el(
    "li",
    {},
    el("time", { datetime: new Date(time).toISOString() }, clock(time)),
    badge("error"),
    el(
      "span",
      { class: "what" },
      `cell ${cell}: ${visible(status)}${culprit(rest)}`,
      text ? el("details", {}, el("summary", {}, "Last words"), el("pre", {}, text)) : null,
    ),
  );
}
