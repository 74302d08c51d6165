"use strict";
// What util.inspect begins an object with, by its kind: the class in front of the brackets, and which keys are shown.

const { constructorName, entriesOf, keysOf, kinds, kindsOf, platformDetails } = binding("util");
const types = require("internal/util/types");
const { ARRAY_EXTRAS, OBJECT } = require("internal/util/inspect_layout");
const { stylizeNoColor } = require("internal/util/inspect_styles");
const {
  formatBigInt, formatNumber, formatPrimitive, formatProperty, formatValue, inspect,
} = require("internal/util/inspect");
const {
  arrayEntries, bufferEntries, collectionEntries, listEntries, namespaceEntry, pairEntries, platformEntries, promiseEntries,
  remaining, urlDetails,
} = require("internal/util/inspect_entries");
const { formatError, isError } = require("internal/util/inspect_errors");

/** The bit of each kind in what `kindsOf` says. */
const BIT = { __proto__: null };
for (const [bit, name] of kinds.entries()) BIT[name] = 1 << bit;
const BOXED = BIT.isNumberObject | BIT.isStringObject | BIT.isBooleanObject | BIT.isBigIntObject | BIT.isSymbolObject;

/** The names of the built-in classes: what their prototypes have is not shown. */
const builtIns = new Set(Object.getOwnPropertyNames(globalThis).filter((name) => /^[A-Z][a-zA-Z0-9]+$/.test(name)));

/** The prototypes that are known whatever an app does to their `constructor`. */
const wellKnown = new Map([
  [Object.prototype, ["Object", Object]], [Array.prototype, ["Array", Array]], [Function.prototype, ["Function", Function]],
  [RegExp.prototype, ["RegExp", RegExp]], [Date.prototype, ["Date", Date]], [Map.prototype, ["Map", Map]],
  [Set.prototype, ["Set", Set]], [Promise.prototype, ["Promise", Promise]], [Error.prototype, ["Error", Error]],
]);

function isInstance(value, Class) {
  try {
    return value instanceof Class;
  } catch {
    return false;
  }
}

/** The name of an object's class; null where its prototype is null. Shown prototypes' properties are put into `entries`. */
function classOf(context, value, depth, entries) {
  let first;
  for (let at = value; at !== null && at !== undefined; at = Object.getPrototypeOf(at)) {
    const known = wellKnown.get(at);
    const constructor = known === undefined ? Object.getOwnPropertyDescriptor(at, "constructor")?.value : known[1];
    const name = known === undefined ? constructor?.name : known[0];
    if (typeof constructor === "function" && name !== "" && isInstance(value, constructor)) {
      if (entries !== undefined && first !== at && (known !== undefined || first !== undefined || !builtIns.has(name))) {
        addPrototypeEntries(context, value, first ?? value, depth, entries);
      } else if (entries !== undefined && first === at && known === undefined && !builtIns.has(name)) {
        addPrototypeEntries(context, value, first, depth, entries);
      }
      return `${name}`;
    }
    if (first === undefined) first = Object.getPrototypeOf(at);
  }
  if (first === null || first === undefined) return null;
  const name = constructorName(value);
  if (depth > context.depth && context.depth !== null) return `${name} <Complex prototype>`;
  const parent = classOf(context, first, depth + 1, entries);
  if (parent !== null) return `${name} <${parent}>`;
  return `${name} <${inspect(first, { ...context, customInspect: false, depth: -1 })}>`;
}

/** Properties of up to three prototypes, for showHidden: not methods, nor what the object has itself. */
function addPrototypeEntries(context, value, object, depth, entries) {
  const seen = new Set();
  for (let layer = 0; layer < 3; layer++) {
    if (layer !== 0 || object === value) {
      object = Object.getPrototypeOf(object);
      if (object === null) return;
      const constructor = Object.getOwnPropertyDescriptor(object, "constructor")?.value;
      if (typeof constructor === "function" && builtIns.has(constructor.name)) return;
    }
    context.seen.push(value);
    for (const key of Reflect.ownKeys(object)) {
      if (key === "constructor" || Object.hasOwn(value, key) || seen.has(key)) continue;
      const desc = Object.getOwnPropertyDescriptor(object, key);
      if (typeof desc.value === "function") continue;
      const text = formatProperty(context, object, depth, key, OBJECT, desc, value);
      entries.push(context.colors ? `\u001b[2m${text}\u001b[22m` : text);
    }
    context.seen.pop();
    for (const key of Reflect.ownKeys(object)) seen.add(key);
  }
}

/** "Class(size) [tag] " */
function prefixOf(name, tag, fallback, size = "") {
  if (name === null) {
    return tag !== "" && fallback !== tag ? `[${fallback}${size}: null prototype] [${tag}] ` : `[${fallback}${size}: null prototype] `;
  }
  if (tag !== "") {
    // A tag that is a whole word of the name says nothing new.
    const at = name.indexOf(tag);
    const next = at < 0 ? undefined : name[at + tag.length];
    if (at < 0 || (next !== undefined && next === next.toLowerCase())) return `${name}${size} [${tag}] `;
  }
  return `${name}${size} `;
}

function keysFor(value, hidden) {
  if (hidden) return Reflect.ownKeys(value);
  let keys;
  try {
    keys = Object.keys(value);
  } catch {
    keys = Object.getOwnPropertyNames(value); // a module's namespace of which something is not there yet
  }
  for (const symbol of Object.getOwnPropertySymbols(value)) {
    if (Object.prototype.propertyIsEnumerable.call(value, symbol)) keys.push(symbol);
  }
  return keys;
}

/** The text of an object that has nothing in it; else how it is to be laid out. */
function describe(context, value, depth, inTypedArray) {
  const prototypeEntries = context.showHidden && (depth <= context.depth || context.depth === null) ? [] : undefined;
  const name = classOf(context, value, depth, prototypeEntries);
  const shape = {
    kinds: kindsOf(value), name, title: "", base: "", braces: ["{", "}"], keys: [], extras: OBJECT, extraKeys: [], entries: () => [],
    prototypeEntries: prototypeEntries?.length > 0 ? prototypeEntries : undefined, isTypedArray: undefined,
    nothing: () => shape.keys.length === 0 && shape.prototypeEntries === undefined,
  };
  const tag = tagOf(context, value);
  shape.title = prefixOf(name, tag, name === null ? fallbackOf(value, tag) : "").slice(0, -1);
  const iterable = Symbol.iterator in value || name === null;
  return (iterable ? describeIterable(context, value, shape, tag) : undefined) ??
    describeOther(context, value, shape, tag, depth, inTypedArray);
}

function tagOf(context, value) {
  try {
    const tag = value[Symbol.toStringTag];
    if (typeof tag !== "string" || tag === "") return "";
    const shown = context.showHidden ? Object.hasOwn(value, Symbol.toStringTag)
      : Object.prototype.propertyIsEnumerable.call(value, Symbol.toStringTag);
    return shown ? "" : tag;
  } catch {
    return "";
  }
}

/** What stands for a class where there is none. */
function fallbackOf(value, tag) {
  const made = constructorName(value);
  return made === tag ? "Object" : made;
}

function describeIterable(context, value, shape, tag) {
  const { name } = shape;
  if (Array.isArray(value)) {
    shape.keys = keysOf(value, !context.showHidden);
    const prefix = name !== "Array" || tag !== "" ? prefixOf(name, tag, "Array", `(${value.length})`) : "";
    if (value.length === 0 && shape.nothing()) return `${prefix}[]`;
    shape.braces = [`${prefix}[`, "]"];
    shape.extras = ARRAY_EXTRAS;
    shape.entries = (depth) => arrayEntries(context, value, depth);
    return shape;
  }
  if ((shape.kinds & BIT.isSet) || (shape.kinds & BIT.isMap)) {
    const isMap = (shape.kinds & BIT.isMap) !== 0;
    const size = Reflect.get(isMap ? Map.prototype : Set.prototype, "size", value);
    const prefix = prefixOf(name, tag, isMap ? "Map" : "Set", `(${size})`);
    shape.keys = keysFor(value, context.showHidden);
    if (size === 0 && shape.nothing()) return `${prefix}{}`;
    shape.braces = [`${prefix}{`, "}"];
    shape.entries = (depth) => collectionEntries(context, value, isMap, size, depth);
    return shape;
  }
  if (ArrayBuffer.isView(value) && !(shape.kinds & BIT.isDataView)) return describeTypedArray(context, value, shape, tag);
  const isMap = (shape.kinds & BIT.isMapIterator) !== 0;
  if (!isMap && !(shape.kinds & BIT.isSetIterator)) return undefined;
  shape.keys = keysFor(value, context.showHidden);
  const kind = `${isMap ? "Map" : "Set"} Iterator`;
  shape.braces = [`[${tag !== "" && tag !== kind ? `${kind}] [${tag}` : kind}] {`, "}"];
  shape.entries = (depth) => {
    const [entries, pairs] = entriesOf(value);
    if (!pairs) return listEntries(context, entries, depth, false);
    shape.braces[0] = shape.braces[0].replace(/ Iterator\] \{$/, " Entries] {");
    return pairEntries(context, entries, depth, false);
  };
  return shape;
}

function describeTypedArray(context, value, shape, tag) {
  const length = Reflect.get(Object.getPrototypeOf(Uint8Array.prototype), "length", value);
  const kind = Reflect.get(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag, value);
  const elements = shape.name === null ? new globalThis[kind](value) : value;
  shape.keys = keysOf(value, !context.showHidden);
  shape.braces = [`${prefixOf(shape.name, tag, shape.name === null ? kind : "", `(${length})`)}[`, "]"];
  if (length === 0 && shape.keys.length === 0 && !context.showHidden) return `${shape.braces[0]}]`;
  shape.extras = ARRAY_EXTRAS;
  shape.entries = () => {
    const shown = Math.min(Math.max(0, context.maxArrayLength), length);
    const format = typeof elements[0] === "bigint" ? formatBigInt : formatNumber;
    const entries = [];
    for (let i = 0; i < shown; i++) entries.push(format(context.stylize, elements[i], context.numericSeparator));
    return [...entries, ...remaining(length - shown)];
  };
  if (context.showHidden) {
    shape.extraKeys = ["BYTES_PER_ELEMENT", "length", "byteLength", "byteOffset", "buffer"];
    shape.isTypedArray = true;
  }
  return shape;
}

function describeOther(context, value, shape, tag, depth, inTypedArray) {
  const { name } = shape;
  shape.keys = keysFor(value, context.showHidden);
  const tooDeep = depth > context.depth && context.depth !== null;
  const baseOf = (text, style) => {
    shape.base = text;
    return shape.nothing() ? context.stylize(text, style) : shape;
  };
  const prefixed = (fallback, entries, extraKeys = []) => {
    shape.braces[0] = `${prefixOf(name, tag, fallback)}{`;
    shape.entries = entries;
    shape.extraKeys = extraKeys;
    return shape;
  };
  if (typeof value === "function") return baseOf(functionBase(context, value, name, tag), "special");
  if (name === "Object" && !isBranded(value, shape)) {
    if ((shape.kinds & BIT.isArgumentsObject)) shape.braces[0] = "[Arguments] {";
    else if (tag !== "") shape.braces[0] = `${prefixOf(name, tag, "Object")}{`;
    return shape.nothing() ? `${shape.braces[0]}}` : shape;
  }
  if ((shape.kinds & BIT.isRegExp)) {
    const text = RegExp.prototype.toString.call(name === null ? new RegExp(value) : value);
    const prefix = prefixOf(name, tag, "RegExp");
    shape.base = context.stylize(prefix === "RegExp " ? text : `${prefix}${text}`, "regexp");
    return shape.nothing() || tooDeep ? shape.base : shape;
  }
  if ((shape.kinds & BIT.isDate)) {
    const time = Date.prototype.getTime.call(value);
    const text = Number.isNaN(time) ? Date.prototype.toString.call(value) : Date.prototype.toISOString.call(value);
    const prefix = prefixOf(name, tag, "Date");
    return baseOf(prefix === "Date " ? text : `${prefix}${text}`, "date");
  }
  if (isError(value)) {
    shape.base = formatError(context, value, name, tag, shape.keys, prefixOf);
    return shape.nothing() ? shape.base : shape;
  }
  if ((shape.kinds & (BIT.isArrayBuffer | BIT.isSharedArrayBuffer))) {
    const kind = (shape.kinds & BIT.isArrayBuffer) ? "ArrayBuffer" : "SharedArrayBuffer";
    if (inTypedArray && shape.nothing()) {
      return `${prefixOf(name, tag, kind)}{ [byteLength]: ${formatNumber(context.stylize, value.byteLength, false)} }`;
    }
    return prefixed(kind, inTypedArray ? () => [] : () => bufferEntries(context, value), ["byteLength"]);
  }
  if ((shape.kinds & BIT.isDataView)) return prefixed("DataView", () => [], ["byteLength", "byteOffset", "buffer"]);
  if ((shape.kinds & BIT.isPromise)) return prefixed("Promise", (at) => promiseEntries(context, value, at));
  if ((shape.kinds & BIT.isWeakSet) || (shape.kinds & BIT.isWeakMap)) {
    const isMap = (shape.kinds & BIT.isWeakMap) !== 0;
    const unknown = () => [context.stylize("<items unknown>", "special")];
    const known = (at) => (isMap ? pairEntries : listEntries)(context, entriesOf(value)[0], at, true);
    return prefixed(isMap ? "WeakMap" : "WeakSet", context.showHidden ? known : unknown);
  }
  if ((shape.kinds & BIT.isModuleNamespaceObject)) {
    const { keys } = shape;
    shape.keys = [];
    return prefixed("Module", (at) => keys.map((key) => namespaceEntry(context, value, at, key)));
  }
  if ((shape.kinds & BOXED)) return boxed(context, value, shape, tag);
  const details = value instanceof URL ? urlDetails(value) : platformDetails(value);
  const prefix = prefixOf(name, details === undefined ? tag : "", name === null ? fallbackOf(value, tag) : "Object");
  if (shape.nothing() && (details === undefined || details[0].length + details[1].length === 0)) return `${prefix}{}`;
  shape.braces[0] = `${prefix}{`;
  if (details !== undefined) shape.entries = (at) => platformEntries(context, details, at);
  return shape;
}

/** Whether a value whose class seems to be Object is of a kind that has a text of its own. */
function isBranded(value, shape) {
  return (shape.kinds & BIT.isRegExp) || (shape.kinds & BIT.isDate) || isError(value) || (shape.kinds & BOXED);
}

// ---- Bases

function boxed(context, value, shape, tag) {
  const kind = ["Number", "String", "Boolean", "BigInt", "Symbol"].find((type) => types[`is${type}Object`](value));
  if (kind === "String") shape.keys.splice(0, value.length);
  const primitive = globalThis[kind].prototype.valueOf.call(value);
  const whose = kind === shape.name ? "" : shape.name === null ? " (null prototype)" : ` (${shape.name})`;
  shape.base = `[${kind}${whose}: ${formatPrimitive(stylizeNoColor, primitive, context)}]`;
  if (tag !== "" && tag !== shape.name) shape.base += ` [${tag}]`;
  return shape.nothing() ? context.stylize(shape.base, kind.toLowerCase()) : shape;
}

function functionBase(context, value, name, tag) {
  const text = Function.prototype.toString.call(value);
  if (text.startsWith("class") && text.endsWith("}")) {
    const head = text.slice(5, text.indexOf("{")).replace(/(\/\/.*?\n)|(\/\*(.|\n)*?\*\/)/g, "");
    if (!head.includes("(") || /^(\s+[^(]*?)\s*$/.test(head)) return classBase(value, name, tag);
  }
  const kind = `${types.isAsyncFunction(value) ? "Async" : ""}${types.isGeneratorFunction(value) ? "Generator" : ""}Function`;
  let base = `[${kind}${name === null ? " (null prototype)" : ""}`;
  if (value.name === "") base += " (anonymous)";
  else base += `: ${typeof value.name === "string" ? value.name : formatValue(context, value.name)}`;
  base += "]";
  if (name !== kind && name !== null) base += ` ${name}`;
  if (tag !== "" && name !== tag) base += ` [${tag}]`;
  return base;
}

function classBase(value, name, tag) {
  const own = (Object.hasOwn(value, "name") && value.name) || "(anonymous)";
  let base = `class ${own}`;
  if (name !== "Function" && name !== null) base += ` [${name}]`;
  if (tag !== "" && name !== tag) base += ` [${tag}]`;
  if (name === null) return `[${base} extends [null prototype]]`;
  const parent = Object.getPrototypeOf(value).name;
  return parent ? `[${base} extends ${parent}]` : `[${base}]`;
}

module.exports = { builtIns, describe };
