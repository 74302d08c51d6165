// Shortcuts: a number, or g and a letter, for each view; / for the filter; ? for help. Keys in a field or while a
// dialog is open are ignored, and shortcuts can be switched off in the help.

import { tell } from "./dialog.js";
import { el } from "./dom.js";

const VIEWS = [
  ["o", "overview"],
  ["a", "apps"],
  ["w", "workers"],
  ["s", "sandboxes"],
  ["l", "logs"],
  ["e", "events"],
];
const OFF = "hearth.keys";
/** Maximum time between g and its letter. */
const SEQUENCE_TIMEOUT = 1500;

let prefixed = -Infinity;

export function listen() {
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, select, textarea, dialog");
    if (typing || event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
    if (document.getElementById("shell").hidden || isOff()) return;
    if (press(event.key, event.timeStamp)) event.preventDefault();
  });
}

function press(key, time) {
  const afterG = time - prefixed < SEQUENCE_TIMEOUT;
  prefixed = key === "g" ? time : -Infinity;
  const view = VIEWS.find(([letter], at) => (afterG ? key === letter : key === String(at + 1)));
  if (view) location.hash = `#/${view[1]}`;
  else if (key === "?") help();
  else if (key === "/") return focusFilter();
  else return false;
  return true;
}

function focusFilter() {
  const filter = document.querySelector("#main [data-filter]");
  filter?.focus();
  return filter !== null;
}

export function help() {
  const key = (text) => el("kbd", {}, text);
  const rows = VIEWS.map(([letter, view], at) => [[key(String(at + 1)), " or ", key("g"), " ", key(letter)], view]);
  rows.push([[key("/")], "filter of the view"], [[key("?")], "this help"], [[key("Esc")], "close a dialog"]);
  const list = el("dl", { class: "keys" }, rows.map(([keys, what]) => [el("dt", {}, keys), el("dd", {}, what)]).flat());
  const box = el("input", { type: "checkbox", change: () => switchOff(!box.checked) });
  box.checked = !isOff();
  return tell({
    title: "Keyboard",
    body: el("div", { class: "stack" }, list, el("label", { class: "check" }, box, "Single keys are shortcuts")),
  });
}

function isOff() {
  try {
    return localStorage.getItem(OFF) === "off";
  } catch {
    return false;
  }
}

function switchOff(off) {
  try {
    if (off) localStorage.setItem(OFF, "off");
    else localStorage.removeItem(OFF);
  } catch {
    // No storage in this browser: shortcuts stay on.
  }
}
