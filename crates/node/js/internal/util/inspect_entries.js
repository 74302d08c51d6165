"use strict";
// What util.inspect shows between the brackets of an object beside its properties: the items of lists, maps and sets, bytes,
// the state of a promise, the attributes of objects of the web platform.

const { promiseDetails } = binding("util");
const { ARRAY, ARRAY_EXTRAS, OBJECT, layout } = require("internal/util/inspect_layout");
const { formatProperty, formatValue } = require("internal/util/inspect");

function remaining(count) {
  return count > 0 ? [`... ${count} more item${count > 1 ? "s" : ""}`] : [];
}

function arrayEntries(context, value, depth) {
  const most = Math.min(Math.max(0, context.maxArrayLength), value.length);
  const entries = [];
  let at = 0;
  for (; at < value.length && entries.length < most; at++) {
    if (Object.hasOwn(value, at)) {
      entries.push(formatProperty(context, value, depth, `${at}`, ARRAY));
      continue;
    }
    const next = nextIndex(value, at);
    const holes = next - at;
    entries.push(context.stylize(`<${holes} empty item${holes > 1 ? "s" : ""}>`, "undefined"));
    at = next - 1;
  }
  return [...entries, ...remaining(value.length - at)];
}

/** The next index that an array has, or its length. */
function nextIndex(value, from) {
  for (let i = from; i < from + 1000 && i < value.length; i++) if (Object.hasOwn(value, i)) return i;
  for (const key of Object.keys(value)) {
    const index = +key;
    if (!(index < value.length)) break;
    if (index >= from) return index;
  }
  return value.length;
}

function collectionEntries(context, value, isMap, size, depth) {
  const entries = [];
  const most = Math.min(Math.max(0, context.maxArrayLength), size);
  context.indentationLvl += 2;
  const iterator = isMap ? Map.prototype.entries.call(value) : Set.prototype.values.call(value);
  for (const item of iterator) {
    if (entries.length >= most) break;
    entries.push(isMap ? `${formatValue(context, item[0], depth)} => ${formatValue(context, item[1], depth)}`
      : formatValue(context, item, depth));
  }
  context.indentationLvl -= 2;
  return [...entries, ...remaining(size - most)];
}

function listEntries(context, list, depth, weak) {
  const most = Math.min(Math.max(context.maxArrayLength, 0), list.length);
  context.indentationLvl += 2;
  const entries = list.slice(0, most).map((item) => formatValue(context, item, depth));
  context.indentationLvl -= 2;
  if (weak && !context.sorted) entries.sort();
  return [...entries, ...remaining(list.length - most)];
}

function pairEntries(context, list, depth, weak) {
  const count = list.length / 2;
  const most = Math.min(Math.max(context.maxArrayLength, 0), count);
  const entries = [];
  context.indentationLvl += 2;
  for (let i = 0; i < most; i++) {
    const pair = [formatValue(context, list[i * 2], depth), formatValue(context, list[i * 2 + 1], depth)];
    entries.push(weak ? pair.join(" => ") : layout(context, pair, "", ["[", "]"], ARRAY_EXTRAS, depth));
  }
  context.indentationLvl -= 2;
  if (weak && !context.sorted) entries.sort();
  return [...entries, ...remaining(count - most)];
}

function bufferEntries(context, value) {
  let bytes;
  try {
    bytes = new Uint8Array(value);
  } catch {
    return [context.stylize("(detached)", "special")];
  }
  const most = Math.min(Math.max(0, context.maxArrayLength), bytes.length);
  let text = Array.from(bytes.subarray(0, most), (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  const more = bytes.length - context.maxArrayLength;
  if (more > 0) text += ` ... ${more} more byte${more > 1 ? "s" : ""}`;
  return [`${context.stylize("[Uint8Contents]", "special")}: <${text}>`];
}

function promiseEntries(context, value, depth) {
  const [state, result] = promiseDetails(value);
  if (state === 0) return [context.stylize("<pending>", "special")];
  context.indentationLvl += 2;
  const text = formatValue(context, result, depth);
  context.indentationLvl -= 2;
  return [state === 2 ? `${context.stylize("<rejected>", "special")} ${text}` : text];
}

const URL_PARTS = [
  "href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "searchParams", "hash",
];

/** All parts of a URL, as Node shows them; undefined where it has the prototype alone. */
function urlDetails(url) {
  try {
    return [URL_PARTS.flatMap((part) => [part, url[part]]), []];
  } catch {
    return undefined;
  }
}

/** Attributes and pairs of an object of the web platform. */
function platformEntries(context, [attributes, pairs], depth) {
  const entries = [];
  context.indentationLvl += 2;
  for (let i = 0; i < attributes.length; i += 2) {
    entries.push(`${context.stylize(attributes[i], "name")}: ${formatValue(context, attributes[i + 1], depth)}`);
  }
  for (let i = 0; i < pairs.length; i += 2) {
    entries.push(`${formatValue(context, pairs[i], depth)} => ${formatValue(context, pairs[i + 1], depth)}`);
  }
  context.indentationLvl -= 2;
  return entries;
}

function namespaceEntry(context, value, depth, key) {
  try {
    return formatProperty(context, value, depth, key, OBJECT);
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    const text = formatProperty(context, { [key]: "" }, depth, key, OBJECT);
    return text.slice(0, text.lastIndexOf(" ") + 1) + context.stylize("<uninitialized>", "special");
  }
}

module.exports = {
  arrayEntries, bufferEntries, collectionEntries, listEntries, namespaceEntry, pairEntries, platformEntries, promiseEntries,
  remaining, urlDetails,
};
