// Creates elements from data. Text is always text: nothing here, nor anywhere in the dashboard, reads data as HTML.

/**
 * An element. Attributes that are functions listen to the event of their name (`click`, `submit`); `true` is an attribute
 * without a value; `false`, `null` and `undefined` are none. Children that are `null` or `false` are left out.
 */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Changes the text only if it differs, so that selections and screen readers are not disturbed. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

let lastId = 0;

/** A label and its field, linked by id. */
export function field(label, input, { hint, grow } = {}) {
  input.id ||= `field-${++lastId}`;
  const about = hint && el("p", { class: "hint", id: `${input.id}-hint` }, hint);
  if (about) input.setAttribute("aria-describedby", about.id);
  return el("div", { class: grow ? "field grow" : "field" }, el("label", { for: input.id }, label), input, about);
}
