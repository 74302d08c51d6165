// The log as it is written. Lines are kept up to a number and drawn once per frame at most; while paused they are still
// kept, and shown when it is resumed. The list stays scrolled to its end if it was there.

import { get } from "../parts/api.js";
import { el, field, setText } from "../parts/dom.js";
import { plural } from "../parts/format.js";
import { LEVELS, gap, line, wanted } from "../parts/line.js";
import { follow } from "../parts/stream.js";

/** Lines in memory, and lines on the page. */
const MAX_KEPT = 5000;
const MAX_SHOWN = 1000;
/** Earlier lines that are fetched at the start. */
const BEFORE = 200;

export function logs(main, signal) {
  let kept = [];
  let fresh = [];
  let paused = false;
  /** Lines that arrived while paused. */
  let waiting = 0;
  let stream = null;
  let frame = 0;

  const app = el("select", { change: () => connect() }, el("option", { value: "" }, "All"));
  const level = el(
    "select",
    { change: () => redraw() },
    LEVELS.map((one) => el("option", { value: one, selected: one === "info" }, one)),
  );
  const text = el("input", {
    type: "search",
    "data-filter": true,
    placeholder: "in message, fields, request",
    input: () => redraw(),
  });
  const pause = el("button", { type: "button", class: "button", click: () => toggle() }, "Pause");
  const clear = el("button", { type: "button", class: "button", click: () => empty() }, "Clear");
  // Not read out by screen readers: it changes all the time. The banner reports a lost connection.
  const status = el("p", { class: "hint" });
  const list = el("div", { class: "log", role: "log", "aria-live": "off", "aria-label": "Log", tabindex: "0" });
  main.append(
    el("div", { class: "head" }, el("h1", {}, "Logs"), status),
    el(
      "div",
      { class: "bar" },
      field("App", app),
      field("At least", level),
      field("Text", text, { grow: true }),
      el("div", { class: "actions" }, pause, clear),
    ),
    list,
  );

  const filter = () => ({ level: level.value, text: text.value.trim() });
  const lets = (item) => item.missed !== undefined || wanted(item, filter());
  const draw = (item) => (item.missed === undefined ? line(item) : gap(item.missed));

  function connect() {
    stream?.abort();
    stream = new AbortController();
    const query = new URLSearchParams({ follow: "true", lines: String(BEFORE), ...(app.value && { app: app.value }) });
    empty();
    say("Connecting…");
    follow(stream.signal, `/admin/logs?${query}`, ["line", "missed"], {
      // The server repeats the lines that it has kept; the shown ones stay.
      opened: () => {
        [kept, fresh] = [[], []];
        if (!paused) list.replaceChildren();
        say();
      },
      each: (name, item) => take(name === "line" ? item : { missed: item }),
      lost: () => say("Lost: trying again…"),
    });
  }

  function take(item) {
    kept.push(item);
    if (kept.length > MAX_KEPT * 1.2) kept = kept.slice(-MAX_KEPT);
    if (paused) {
      waiting += 1;
      say();
      return;
    }
    fresh.push(item);
    if (fresh.length > MAX_SHOWN) fresh.shift();
    frame ||= requestAnimationFrame(flush);
  }

  function flush() {
    frame = 0;
    const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
    list.append(...fresh.filter(lets).map(draw));
    fresh = [];
    while (list.childElementCount > MAX_SHOWN) list.firstElementChild.remove();
    if (atEnd) list.scrollTop = list.scrollHeight;
  }

  function redraw() {
    fresh = [];
    list.replaceChildren(...kept.filter(lets).slice(-MAX_SHOWN).map(draw));
    list.scrollTop = list.scrollHeight;
  }

  function empty() {
    kept = [];
    fresh = [];
    list.replaceChildren();
  }

  function toggle() {
    paused = !paused;
    waiting = 0;
    setText(pause, paused ? "Go on" : "Pause");
    if (!paused) redraw();
    say();
  }

  function say(words) {
    setText(status, words ?? (paused ? `Paused; ${plural(waiting, "line")} since` : "Following"));
  }

  signal.addEventListener("abort", () => {
    stream.abort();
    cancelAnimationFrame(frame);
  });
  connect();
  get("/admin/apps", signal).then(
    ({ apps }) => app.append(...apps.map(({ name }) => el("option", { value: name }, name))),
    // Only the choice of all apps is left.
    () => {},
  );
}
