// A line of the log as an element, and whether a filter accepts it.

import { el } from "./dom.js";
import { clock } from "./format.js";
import { visible } from "./visible.js";

export const LEVELS = ["trace", "debug", "info", "warn", "error"];

export function line({ time, level, target, message, app, version, request, fields = {} }) {
  const about = app === undefined ? target : version === undefined ? app : `${app}@${version}`;
  const extra = Object.entries(fields).map(
    ([name, value]) => ` ${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  if (request !== undefined) extra.push(` request=${request}`);
  return el(
    "div",
    { class: "line", "data-level": level },
    el("span", { class: "time", title: new Date(time).toISOString() }, clock(time, { precise: true })),
    el("span", { class: "level" }, level),
    el("span", { class: "app", title: visible(about) }, visible(about)),
    el(
      "span",
      { class: "text" },
      visible(message),
      extra.length ? el("span", { class: "extra" }, visible(extra.join(""))) : null,
    ),
  );
}

/** A note about lines that the server dropped because this client was too slow. */
export function gap(missed) {
  return el(
    "div",
    { class: "line gap" },
    `▲ ${missed} lines came too fast and are missing here; the server's own log has them`,
  );
}

/** `level` is the minimum; `text` may be anywhere in the line, in any case. */
export function wanted(line, { level, text }) {
  if (LEVELS.indexOf(line.level) < LEVELS.indexOf(level)) return false;
  const { message, app, version, request, target, fields = {} } = line;
  const words = [message, app, version, request, target, ...Object.entries(fields).flat().map(String)];
  return text === "" || words.join("\n").toLowerCase().includes(text.toLowerCase());
}
