// Entry point of the dashboard: logs in, shows the view that the address names (#/apps/hello), and handles what all views
// share: connection, session, shortcuts. A view is a function that fills <main> and ends with the signal it is given.

import { get, logOut, session } from "./parts/api.js";
import { connection } from "./parts/connection.js";
import { help, listen } from "./parts/keys.js";
import { live } from "./parts/live.js";
import { bad } from "./parts/notices.js";
import { app } from "./views/app.js";
import { apps } from "./views/apps.js";
import { events } from "./views/events.js";
import { login } from "./views/login.js";
import { logs } from "./views/logs.js";
import { overview } from "./views/overview.js";
import { sandboxes } from "./views/sandboxes.js";
import { workers } from "./views/workers.js";

const VIEWS = { overview, apps, workers, sandboxes, logs, events };

const at = (id) => document.getElementById(id);
/** Ends the view that is shown, and the session. */
let view = new AbortController();
let stay = new AbortController();

async function begin() {
  try {
    await get("/admin/metrics");
    enter();
  } catch (error) {
    // Any other error leads to the login; a lost connection is shown by its banner.
    leave(error.status === 401 ? "" : error.message);
  }
}

function enter() {
  stay.abort();
  stay = new AbortController();
  at("login").hidden = true;
  at("shell").hidden = false;
  live.start(stay.signal);
  pulse();
  route();
}

function leave(why) {
  stay.abort();
  view.abort();
  at("shell").hidden = true;
  at("main").replaceChildren();
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  document.title = "Log in – Hearth";
  login(why, enter);
}

function route() {
  if (at("shell").hidden) return;
  view.abort();
  view = new AbortController();
  const [, name = "", rest] = /^#\/([a-z]+)(?:\/(.+))?$/.exec(location.hash) ?? [];
  const known = Object.hasOwn(VIEWS, name) ? name : "overview";
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.dataset.view === known) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const main = at("main");
  main.replaceChildren();
  if (known === "apps" && rest) app(main, view.signal, decoded(rest));
  else VIEWS[known](main, view.signal);
  const heading = main.querySelector("h1");
  document.title = `${heading.textContent} – Hearth`;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  scrollTo(0, 0);
}

/** Text that cannot be decoded is left as it is; no app has such a name. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function pulse() {
  const lost = connection.state === "lost";
  const state = lost ? "lost" : document.hidden ? "paused" : "live";
  at("pulse").dataset.state = state;
  at("pulse").textContent = { lost: "No connection", paused: "Paused", live: "Live" }[state];
  at("banner").hidden = !lost;
  at("banner").textContent = lost ? "The server does not answer. Trying again…" : "";
}

addEventListener("hashchange", route);
connection.addEventListener("change", pulse);
document.addEventListener("visibilitychange", pulse);
session.addEventListener("ended", () => {
  if (!at("shell").hidden) leave("The session has ended: log in again.");
});
at("help").addEventListener("click", help);
at("logout").addEventListener("click", async () => {
  try {
    await logOut();
    leave("");
  } catch (error) {
    bad(`Not logged out: ${error.message}`);
  }
});
at("skip").addEventListener("click", (event) => {
  // The address names the view: it must not become #main.
  event.preventDefault();
  const main = document.querySelector("main:not([hidden])");
  (main.querySelector("h1, input") ?? main).focus();
});
listen();
begin();
