// Access tokens of apps whose manifest says `auth: token`. A new one is shown once: the server keeps only its hash.

import { app as path, get, send } from "../parts/api.js";
import { ask, tell } from "../parts/dialog.js";
import { el, field, setText } from "../parts/dom.js";
import { clock } from "../parts/format.js";
import { good } from "../parts/notices.js";
import { visible } from "../parts/visible.js";

export function tokens(name, signal) {
  const list = el("ul", { class: "list" });
  const note = el("p", { class: "empty", role: "status" }, "Looking…");
  const add = el("button", { type: "button", class: "button small", click: () => make().then(look) }, "Make a token…");

  async function look() {
    try {
      const { tokens } = await get(path(name, "/tokens"), signal);
      list.replaceChildren(...tokens.map(row));
      note.hidden = tokens.length > 0;
      setText(note, "No tokens.");
    } catch (error) {
      if (signal.aborted) return;
      note.hidden = false;
      setText(note, error.message);
    }
  }

  function row({ id, label, created_at: made }) {
    const shown = label === "" ? `Token ${id}` : visible(label);
    return el(
      "li",
      {},
      el("span", { class: "what" }, shown),
      el("time", { datetime: made }, `made ${clock(made)}`),
      el(
        "button",
        {
          type: "button",
          class: "button small danger",
          "aria-label": `Delete ${shown}`,
          click: () => remove(id, shown).then(look),
        },
        "Delete…",
      ),
    );
  }

  async function make() {
    const label = el("input", { autocomplete: "off", placeholder: "what it is for" });
    const made = await ask({
      title: `Make a token for ${name}`,
      body: field("Label", label),
      yes: "Make",
      act: () => send("POST", path(name, `/tokens?label=${encodeURIComponent(label.value.trim())}`)),
    });
    if (made) await reveal(made.token);
  }

  async function remove(id, shown) {
    const done = await ask({
      title: `Delete ${shown}?`,
      body: el("p", {}, `Requests to ${name} that carry it are refused from then on.`),
      yes: "Delete",
      danger: true,
      act: () => send("DELETE", path(name, `/tokens/${encodeURIComponent(id)}`)),
    });
    if (done) good(`Deleted ${shown} of ${name}.`);
  }

  look();
  return el(
    "section",
    { class: "panel", "aria-label": "Tokens" },
    el("div", { class: "head" }, el("h2", {}, "Tokens"), add),
    note,
    list,
  );
}

function reveal(token) {
  const input = el("input", { readonly: true, "aria-label": "Token", autofocus: true, focus: () => input.select() });
  input.value = token;
  const said = el("p", { class: "hint", role: "status" }, "Send it as Authorization: Bearer TOKEN.");
  const copy = async () => {
    input.select();
    try {
      await navigator.clipboard.writeText(token);
      said.textContent = "Copied.";
    } catch {
      // Browsers allow the clipboard on secure pages only.
      said.textContent = "It is selected: copy it with the keyboard.";
    }
  };
  return tell({
    title: "The new token",
    body: el(
      "div",
      { class: "stack" },
      el("p", {}, "Copy it now: it is not shown again."),
      el("div", { class: "once" }, input, el("button", { type: "button", class: "button", click: copy }, "Copy")),
      said,
    ),
  });
}
