// States as a sign and a word; colour is never the only difference.

import { el } from "./dom.js";

const STATES = {
  served: ["good", "●"],
  installing: ["warn", "◌"],
  failed: ["bad", "✕"],
  done: ["good", "●"],
  active: ["good", "●"],
  idle: ["plain", "◐"],
  ephemeral: ["plain", "◇"],
  offline: ["bad", "○"],
  ready: ["good", "●"],
  lost: ["bad", "✕"],
  error: ["bad", "✕"],
  warn: ["warn", "▲"],
  info: ["plain", "●"],
};

export function badge(state) {
  const [kind, sign] = STATES[state] ?? ["plain", "●"];
  return el("span", { class: `badge ${kind}` }, el("span", { "aria-hidden": "true" }, `${sign} `), state);
}

export function tag(text) {
  return el("span", { class: "badge hot" }, text);
}
