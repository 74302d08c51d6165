// Sends a task event to the active version of an app, and shows the result.

import { app as path, send } from "../parts/api.js";
import { badge } from "../parts/badge.js";
import { el, field } from "../parts/dom.js";
import { span } from "../parts/format.js";
import { visible } from "../parts/visible.js";

export function task(name) {
  const payload = el("textarea", { rows: "4", spellcheck: "false", placeholder: '{ "kind": "reindex" }' });
  const failed = el("p", { class: "error", role: "alert" });
  const result = el("div", { class: "stack", role: "status" });
  const button = el("button", { type: "submit", class: "button" }, "Send");

  const submit = async (event) => {
    event.preventDefault();
    failed.textContent = "";
    result.replaceChildren();
    button.disabled = true;
    const began = performance.now();
    try {
      if (payload.value.trim() !== "") checked(payload.value);
      const { success, data, code, error } = await send("POST", path(name, "/task"), payload.value);
      const head = el(
        "p",
        {},
        badge(success ? "done" : "failed"),
        ` ${success ? "" : (code ?? "by the app itself")} after ${span(performance.now() - began)}`,
      );
      result.replaceChildren(head, el("pre", {}, visible(success ? JSON.stringify(data, null, 2) : error)));
    } catch (error) {
      failed.textContent = error.message;
    } finally {
      button.disabled = false;
    }
  };
  return el(
    "section",
    { class: "panel", "aria-label": "Send a task" },
    el("h2", {}, "Send a task"),
    el(
      "form",
      { class: "stack", submit },
      field("Payload (JSON; may be empty)", payload),
      failed,
      el("div", { class: "actions" }, button),
    ),
    result,
  );
}

function checked(text) {
  try {
    JSON.parse(text);
  } catch (error) {
    throw new Error(`the payload is not JSON: ${error.message}`);
  }
}
