// Messages that come and go in a corner, read out by screen readers. Successes disappear; errors stay until they are closed.

import { el } from "./dom.js";

const STAY = 6000;
const MAX_NOTICES = 4;

export function good(text) {
  const notice = add("notice", text);
  setTimeout(() => notice.remove(), STAY);
}

export function bad(text) {
  add("notice bad", text);
}

function add(kind, text) {
  const notice = el(
    "div",
    { class: kind },
    el("p", {}, text),
    el(
      "button",
      { type: "button", class: "button quiet small", "aria-label": "Dismiss", click: () => notice.remove() },
      "✕",
    ),
  );
  const all = document.getElementById("notices");
  all.append(notice);
  while (all.children.length > MAX_NOTICES) all.firstElementChild.remove();
  return notice;
}
