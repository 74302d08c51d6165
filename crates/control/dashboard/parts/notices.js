// Messages that come and go in a corner, read out as they come. Good news leaves by itself; bad news waits to be read.

import { el } from "./dom.js";

const STAY = 6000;
const MOST = 4;

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
  while (all.children.length > MOST) all.firstElementChild.remove();
  return notice;
}
