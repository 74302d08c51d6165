// Names of an app's secrets. Values can be set and never read.

import { app as path, get, send } from "../parts/api.js";
import { ask } from "../parts/dialog.js";
import { el, field, setText } from "../parts/dom.js";
import { good } from "../parts/notices.js";

export function secrets(name, signal) {
  const list = el("ul", { class: "list" });
  const note = el("p", { class: "empty", role: "status" }, "Looking…");
  const set = el(
    "button",
    { type: "button", class: "button small", click: () => change("").then(look) },
    "Set a secret…",
  );

  async function look() {
    try {
      const { secrets } = await get(path(name, "/secrets"), signal);
      list.replaceChildren(...secrets.map(row));
      note.hidden = secrets.length > 0;
      setText(note, "No secrets.");
    } catch (error) {
      if (signal.aborted) return;
      note.hidden = false;
      setText(note, error.message);
    }
  }

  function row(key) {
    const act = (label, kind, click) =>
      el("button", { type: "button", class: kind, "aria-label": `${label} ${key}`, click }, `${label}…`);
    return el(
      "li",
      {},
      el("code", { class: "what" }, key),
      el(
        "span",
        { class: "actions" },
        act("Change", "button small", () => change(key).then(look)),
        act("Delete", "button small danger", () => remove(key).then(look)),
      ),
    );
  }

  async function change(key) {
    const keyField = el("input", {
      required: true,
      autocomplete: "off",
      spellcheck: "false",
      readonly: key !== "",
      pattern: "[A-Za-z_][A-Za-z0-9_]*",
      title: "letters, digits and _, not a digit first",
    });
    keyField.value = key;
    const valueField = el("textarea", { rows: "3", autocomplete: "off", spellcheck: "false", autofocus: key !== "" });
    const done = await ask({
      title: key === "" ? `Set a secret of ${name}` : `Change ${key} of ${name}`,
      body: el(
        "div",
        { class: "stack" },
        field("Name", keyField, { hint: "What the app sees as env.NAME." }),
        field("Value", valueField, { hint: "Kept encrypted, and never shown again." }),
      ),
      yes: "Set",
      act: () => send("PUT", path(name, `/secrets/${encodeURIComponent(keyField.value.trim())}`), valueField.value),
    });
    if (done) good(`Set ${done.set} of ${name}.`);
  }

  async function remove(key) {
    const done = await ask({
      title: `Delete the secret ${key}?`,
      body: el("p", {}, `${name} does not see it from its next request on. The value cannot be read back.`),
      yes: "Delete",
      danger: true,
      act: () => send("DELETE", path(name, `/secrets/${encodeURIComponent(key)}`)),
    });
    if (done) good(`Deleted ${done.deleted} of ${name}.`);
  }

  look();
  return el(
    "section",
    { class: "panel", "aria-label": "Secrets" },
    el("div", { class: "head" }, el("h2", {}, "Secrets"), set),
    note,
    list,
  );
}
