// A table that is updated in place: rows are kept by their key and changed only where they differ, so that focus and
// selection stay. Headers of sortable columns are buttons (`aria-sort`).

import { el, setText } from "./dom.js";
import { plural } from "./format.js";

/** Maximum number of rows that are shown. */
const MAX_ROWS = 500;

/**
 * `columns` are `{ label, show, value, number, quiet }`: `show` makes a string or a node of a row; `value` is what is sorted
 * by, and a column without it cannot be sorted; `quiet` shows the label to screen readers only. `key` names a row. `sort` is the column
 * (by number) and the direction to begin with. `cards` turns rows into cards on phones.
 */
export function table({ label, columns, key, sort, cards, empty }) {
  let rows = [];
  let kept = new Map();
  let [sorted, direction] = sort ?? [null, "ascending"];

  const heads = columns.map((column, at) => {
    const choose = () => {
      const other = direction === "ascending" ? "descending" : "ascending";
      direction = sorted === at ? other : column.number ? "descending" : "ascending";
      sorted = at;
      draw();
    };
    const content = column.value
      ? el("button", { type: "button", class: "sort", click: choose }, column.label)
      : column.label;
    const shown = column.quiet ? el("span", { class: "unseen" }, column.label) : content;
    return el("th", { scope: "col", role: "columnheader", class: column.number ? "number" : null }, shown);
  });
  const body = el("tbody", { role: "rowgroup" });
  const whole = el(
    "table",
    { role: "table", "aria-label": label, class: cards ? "cards" : null },
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads)),
    body,
  );
  const note = el("p", { class: "empty", hidden: true });
  const scroll = el("div", { class: "scroll", role: "group", "aria-label": label, tabindex: "0" }, whole);
  const element = el("div", {}, scroll, note);

  function draw() {
    for (const [at, head] of heads.entries()) {
      if (columns[at].value) head.setAttribute("aria-sort", at === sorted ? direction : "none");
    }
    const shown = order().slice(0, MAX_ROWS);
    const next = new Map();
    for (const row of shown) {
      const name = String(key(row));
      const old = kept.get(name) ?? { element: el("tr", { role: "row" }), said: "" };
      next.set(name, refreshed(old, row));
    }
    kept = next;
    const wanted = [...next.values()].map((one) => one.element);
    // Moving a row takes the focus from its elements, so rows move only if the order has changed.
    if (wanted.length !== body.children.length || wanted.some((one, at) => body.children[at] !== one))
      body.replaceChildren(...wanted);
    scroll.hidden = rows.length === 0;
    note.hidden = rows.length > 0 && rows.length <= MAX_ROWS;
    setText(note, rows.length === 0 ? empty : `${plural(rows.length - MAX_ROWS, "more row")} not shown: narrow them down.`);
  }

  function refreshed(old, row) {
    const said = JSON.stringify(row);
    if (said === old.said) return old;
    const first = old.said === "";
    for (const [at, column] of columns.entries()) {
      const content = column.show(row);
      const isVoid = content === "" || content === null;
      if (first) {
        const kind = at === 0 ? "th" : "td";
        const name = [column.number ? "number" : "", isVoid ? "void" : ""].join(" ").trim();
        const scope = at === 0 ? { scope: "row", role: "rowheader" } : { role: "cell" };
        old.element.append(
          el(kind, { ...scope, class: name || null, "data-label": column.quiet ? "" : column.label }, content),
        );
      } else if (typeof content === "string") {
        setText(old.element.children[at], content);
      } else {
        old.element.children[at].replaceChildren(...(content === null ? [] : [content]));
      }
      old.element.children[at].classList.toggle("void", isVoid);
    }
    return { element: old.element, said };
  }

  function order() {
    const { value } = columns[sorted] ?? {};
    if (!value) return rows;
    const sign = direction === "ascending" ? 1 : -1;
    const compare = (a, b) =>
      typeof a === "string"
        ? a.localeCompare(b, "en", { numeric: true })
        : (Number.isFinite(a) ? a : -1) - (Number.isFinite(b) ? b : -1);
    return rows.toSorted((a, b) => sign * compare(value(a), value(b)));
  }

  return {
    element,
    update(list) {
      rows = list;
      draw();
    },
  };
}
