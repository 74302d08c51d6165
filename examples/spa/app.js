// Every path without an extension is answered with index.html; which page that is gets decided here. Hearth puts a
// <base href> into it, so that links work wherever the app is mounted, and `window.__env__` with the PUBLIC_ variables.
const base = new URL(document.baseURI).pathname;
const greeting = window.__env__?.PUBLIC_GREETING ?? "Hello";

const pages = [
  [/^$/, () => `${greeting}! This page was made in the browser.`],
  [/^about$/, () => "Reload this page: the server answers with index.html again."],
  [/^users\/(\d+)$/, (id) => `This is user ${id}.`],
];

function show() {
  const path = location.pathname.slice(base.length);
  const [pattern, page] = pages.find(([pattern]) => pattern.test(path)) ?? [/^/, () => `There is no page ${path}.`];
  document.querySelector("main").textContent = page(...(pattern.exec(path) ?? []).slice(1));
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link || !link.href.startsWith(document.baseURI)) return;
  event.preventDefault();
  history.pushState(null, "", link.href);
  show();
});
addEventListener("popstate", show);
show();
