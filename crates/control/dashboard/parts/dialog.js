// Modal <dialog>s: Escape and Cancel decline, and the focus returns to where it was. Errors are shown inside, and the
// dialog stays open, so that nothing has to be typed again.

import { el } from "./dom.js";

let lastId = 0;

/**
 * Asks, and runs `act` if confirmed, while the dialog stays open. `act` may fail with a
 * message. Resolves with what `act` resolved with, or `undefined` for no. `danger` is for what cannot be undone: the focus is then on Cancel.
 */
export function ask({ title, body, yes, danger = false, act }) {
  return new Promise((resolve) => {
    const id = `dialog-${++lastId}`;
    const failed = el("p", { class: "error", role: "alert" });
    const cancel = el(
      "button",
      { type: "button", class: "button", autofocus: danger, click: () => dialog.close() },
      "Cancel",
    );
    const confirm = el("button", { type: "submit", class: danger ? "button danger" : "button primary" }, yes);
    let result;
    const submit = async (event) => {
      event.preventDefault();
      confirm.disabled = true;
      failed.textContent = "";
      try {
        result = (await act()) ?? true;
        dialog.close();
      } catch (error) {
        failed.textContent = error.message;
      } finally {
        confirm.disabled = false;
      }
    };
    const form = el(
      "form",
      { submit },
      el("h2", { id }, title),
      body,
      failed,
      el("div", { class: "actions" }, cancel, confirm),
    );
    const dialog = show(id, form, () => resolve(result));
  });
}

/** Shows content until it is closed. */
export function tell({ title, body }) {
  return new Promise((resolve) => {
    const id = `dialog-${++lastId}`;
    const close = el("button", { type: "button", class: "button", click: () => dialog.close() }, "Close");
    const content = el("div", { class: "body" }, el("h2", { id }, title), body, el("div", { class: "actions" }, close));
    const dialog = show(id, content, resolve);
  });
}

function show(id, content, closed) {
  const dialog = el("dialog", { "aria-labelledby": id }, content);
  dialog.addEventListener("close", () => {
    dialog.remove();
    closed();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
