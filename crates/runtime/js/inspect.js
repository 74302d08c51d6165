// @ts-check
"use strict";
// Objects as text, for the console: Node's util.inspect in looks. Whatever it is given, it neither throws nor runs away:
// no getter of an app is called, no toString and no toJSON; lists, strings, depth and the whole have limits. A Proxy
// cannot be told from its target without a native, so its traps do run; what they throw ends in "[Uninspectable]".

const {
  ArrayBufferIsView, ArrayIsArray, ArrayPrototypePush, DataViewPrototypeGetByteLength, DataViewPrototypeGetByteOffset,
  DatePrototypeGetTime, DatePrototypeToISOString, FunctionPrototypeCall, MapIteratorPrototypeNext, MapPrototypeEntries,
  MapPrototypeGetSize, NumberIsNaN, NumberPrototypeToString, ObjectGetPrototypeOf, ObjectPrototype, ReflectOwnKeys,
  RegExpPrototypeGetGlobal, RegExpPrototypeGetSource, SafeMap, SetIteratorPrototypeNext, SetPrototypeGetSize,
  SetPrototypeValues, StringPrototypeCharCodeAt, StringPrototypePadStart, StringPrototypeRepeat,
  StringPrototypeReplaceAll, TypedArrayPrototypeGetByteLength, TypedArrayPrototypeGetLength,
  TypedArrayPrototypeGetSymbolToStringTag, WeakMapPrototypeHas, WeakSetPrototypeHas, safeGetOwnPropertyDescriptor,
} = require("primordials");
const { isArrayBuffer, isSharedArrayBuffer } = require("webidl");
const { asBytes } = require("infra/bytes");
const { truncate, formatKey, formatPrimitive, layout } = require("inspect_text");
const {
  accepts, classOf, formatBoxed, formatError, formatFunction, formatRegExp, ownData, prefixOf,
} = require("inspect_kinds");

const MAX_ITEMS = 100, MAX_TOTAL = 64 * 1024, MAX_DEPTH = 4;
/** Work that shows nothing is bounded too: holes, and keys that are not enumerable. */
const MAX_LOOKED_AT = 1000;
/** Which own properties are not shown, because something else shows them. */
const HIDE_NOTHING = 0, HIDE_INDICES = 1, HIDE_ERROR_TEXT = 2, HIDE_GETTERS = 3;

function inspect(value, depth = MAX_DEPTH, budget = MAX_TOTAL) {
  const context = { __proto__: null, budget, depth, seen: [], circular: undefined, height: 0 };
  let text;
  try {
    text = formatValue(context, value, 0, 0);
  } catch {
    text = "[Uninspectable]";
  }
  return truncate(text, budget);
}

function formatValue(context, value, depth, indent) {
  context.height = 0;
  let text;
  if ((typeof value !== "object" || value === null) && typeof value !== "function") {
    text = formatPrimitive(value);
  } else {
    for (let i = 0; i < context.seen.length; i++) {
      if (context.seen[i] !== value) continue;
      if (context.circular === undefined) context.circular = new SafeMap();
      if (!context.circular.has(value)) context.circular.set(value, context.circular.size + 1);
      return `[Circular *${context.circular.get(value)}]`;
    }
    const level = context.seen.length;
    ArrayPrototypePush(context.seen, value);
    try {
      text = formatObject(context, value, depth, indent);
      if (context.circular !== undefined && context.circular.has(value)) text = `<ref *${context.circular.get(value)}> ${text}`;
    } catch {
      text = "[Uninspectable]";
    }
    context.seen.length = level;
    return text; // its parts have been counted
  }
  context.budget -= text.length;
  return text;
}

/** Collects the entries of one object; the nesting of the deepest is what `height` says in the end. */
class Entries {
  list = [];
  height = 0;
  // Fields, though the constructor sets them: assigning to an undefined property could call a
  // setter of Object.prototype.
  context = /** @type {any} */ (undefined);
  depth = 0;
  indent = 0;
  constructor(context, depth, indent) {
    this.context = context;
    this.depth = depth + 1;
    this.indent = indent + 2;
  }
  get full() { return this.context.budget <= 0; }
  add(text) {
    this.context.budget -= 4;
    ArrayPrototypePush(this.list, text);
  }
  format(value) {
    const text = formatValue(this.context, value, this.depth, this.indent);
    if (this.context.height > this.height) this.height = this.context.height;
    return text;
  }
  more(count, what = "item") {
    if (count > 0) this.add(`... ${count} more ${what}${count === 1 ? "" : "s"}`);
  }
}

function formatObject(context, value, depth, indent) {
  const cls = classOf(value);
  if (typeof value !== "function" && depth > context.depth && !cls.isError) {
    context.budget -= 8;
    return `[${ArrayIsArray(value) ? "Array" : cls.name === undefined ? "Object: null prototype" : cls.name}]`;
  }
  const entries = new Entries(context, depth, indent);
  const shape = describe(value, cls, entries);
  if (depth <= context.depth) addProperties(value, entries, shape);
  context.budget -= shape.prefix.length;
  context.height = entries.height + 1;
  // A date or a function is its own text, unless it has properties.
  if (shape.alone && entries.list.length === 0) {
    context.height = 0;
    return shape.prefix;
  }
  const { prefix, isList } = shape;
  const place = { __proto__: null, indent, height: context.height, isList };
  return isList ? layout(prefix, "[", "]", entries.list, place) : layout(prefix, "{", "}", entries.list, place);
}

/** What kind of object it is: the text before the brackets, and the entries that are not properties. */
function describe(value, cls, entries) {
  const shape = { __proto__: null, prefix: "", isList: false, alone: false, hide: HIDE_NOTHING };
  if (typeof value === "function") return alone(shape, formatFunction(value, cls));
  if (ArrayIsArray(value)) {
    const length = ownData(value, "length");
    shape.isList = true;
    shape.hide = HIDE_INDICES;
    if (cls.name !== "Array" || cls.tag !== "") shape.prefix = prefixOf(cls, "Array", `(${length})`);
    addArrayItems(value, length, entries);
    return shape;
  }
  const proto = ObjectGetPrototypeOf(value);
  if (proto === ObjectPrototype) {
    if (cls.tag !== "") shape.prefix = prefixOf(cls, "Object");
    return shape;
  }
  if (cls.isError) {
    const text = formatError(value, cls);
    shape.hide = HIDE_ERROR_TEXT;
    if (entries.depth <= entries.context.depth) {
      addHidden(value, "cause", entries);
      addHidden(value, "errors", entries);
    }
    return alone(shape, StringPrototypeReplaceAll(text, "\n", `\n${StringPrototypeRepeat(" ", entries.indent - 2)}`));
  }
  if (cls.platform !== undefined) {
    shape.prefix = prefixOf(cls, "Object");
    shape.hide = HIDE_GETTERS;
    addPlatformEntries(value, cls.platform, entries);
    return shape;
  }
  if (ArrayBufferIsView(value)) {
    const kind = TypedArrayPrototypeGetSymbolToStringTag(value);
    if (kind === undefined) {
      shape.prefix = prefixOf(cls, "DataView");
      entries.add(`byteLength: ${DataViewPrototypeGetByteLength(value)}`);
      entries.add(`byteOffset: ${DataViewPrototypeGetByteOffset(value)}`);
      return shape;
    }
    const length = TypedArrayPrototypeGetLength(value);
    cls.tag = "";
    shape.isList = true;
    shape.hide = HIDE_INDICES;
    shape.prefix = prefixOf(cls, kind, `(${length})`);
    for (let i = 0; i < length && i < MAX_ITEMS; i++) entries.add(entries.format(value[i]));
    entries.more(length - MAX_ITEMS);
    return shape;
  }
  return describeBranded(value, cls, entries, shape);
}

/** Kinds that only their own methods can tell. */
function describeBranded(value, cls, entries, shape) {
  if (accepts(MapPrototypeGetSize, value)) {
    const size = MapPrototypeGetSize(value);
    shape.prefix = prefixOf(cls, "Map", `(${size})`);
    const iterator = MapPrototypeEntries(value);
    for (let i = 0; i < MAX_ITEMS && !entries.full; i++) {
      const { done, value: pair } = MapIteratorPrototypeNext(iterator);
      if (done) return shape;
      entries.add(`${entries.format(pair[0])} => ${entries.format(pair[1])}`);
    }
    entries.more(size - entries.list.length);
  } else if (accepts(SetPrototypeGetSize, value)) {
    const size = SetPrototypeGetSize(value);
    shape.prefix = prefixOf(cls, "Set", `(${size})`);
    const iterator = SetPrototypeValues(value);
    for (let i = 0; i < MAX_ITEMS && !entries.full; i++) {
      const { done, value: item } = SetIteratorPrototypeNext(iterator);
      if (done) return shape;
      entries.add(entries.format(item));
    }
    entries.more(size - entries.list.length);
  } else if (accepts(DatePrototypeGetTime, value)) {
    alone(shape, NumberIsNaN(DatePrototypeGetTime(value)) ? "Invalid Date" : DatePrototypeToISOString(value));
  } else if (accepts(RegExpPrototypeGetSource, value) && accepts(RegExpPrototypeGetGlobal, value)) {
    alone(shape, formatRegExp(value));
  } else if (isArrayBuffer(value) || isSharedArrayBuffer(value)) {
    shape.prefix = prefixOf(cls, "ArrayBuffer");
    addBufferEntries(value, entries);
  } else if (accepts(WeakMapPrototypeHas, value, value) || accepts(WeakSetPrototypeHas, value, value)) {
    shape.prefix = prefixOf(cls, "WeakMap");
    entries.add("<items unknown>");
  } else {
    const boxed = formatBoxed(value);
    if (boxed !== undefined) alone(shape, boxed);
    else if (cls.name !== "Object" || cls.tag !== "") shape.prefix = prefixOf(cls, "Object");
    if (boxed !== undefined) shape.hide = HIDE_INDICES;
  }
  return shape;
}

function alone(shape, text) {
  shape.prefix = text;
  shape.alone = true;
  return shape;
}

function addArrayItems(list, length, entries) {
  let shown = 0;
  let looked = 0;
  let i = 0;
  while (i < length && shown < MAX_ITEMS && looked < MAX_LOOKED_AT && !entries.full) {
    let holes = 0;
    let desc;
    while (i < length && looked++ < MAX_LOOKED_AT && (desc = safeGetOwnPropertyDescriptor(list, i)) === undefined) {
      holes++;
      i++;
    }
    if (holes > 0) entries.add(`<${holes} empty item${holes === 1 ? "" : "s"}>`);
    if (desc !== undefined) {
      entries.add(formatDescriptor(desc, entries));
      i++;
    }
    shown++;
  }
  entries.more(length - i);
}

function formatDescriptor(desc, entries) {
  if (desc.get !== undefined) return desc.set !== undefined ? "[Getter/Setter]" : "[Getter]";
  if (desc.set !== undefined) return "[Setter]";
  return entries.format(desc.value);
}

/** A property that is shown though it is not enumerable, as cause is: "[cause]: ...". */
function addHidden(object, key, entries) {
  const desc = safeGetOwnPropertyDescriptor(object, key);
  if (desc !== undefined && !desc.enumerable) entries.add(`[${key}]: ${formatDescriptor(desc, entries)}`);
}

function addPlatformEntries(object, { attributes, pairs }, entries) {
  // The prototype of a class has its getters, but none of its state: they throw.
  for (let i = 0; i < attributes.length; i += 2) {
    try {
      entries.add(`${attributes[i]}: ${entries.format(FunctionPrototypeCall(attributes[i + 1], object, object))}`);
    } catch {
      return;
    }
  }
  if (pairs === undefined) return;
  const list = pairs(object);
  for (let i = 0; i < list.length && i < 2 * MAX_ITEMS && !entries.full; i += 2) {
    entries.add(`${entries.format(list[i])} => ${entries.format(list[i + 1])}`);
  }
  entries.more(list.length / 2 - MAX_ITEMS);
}

function addBufferEntries(buffer, entries) {
  const bytes = asBytes(buffer);
  const length = TypedArrayPrototypeGetByteLength(bytes);
  let contents = "";
  for (let i = 0; i < length && i < 50; i++) {
    contents += `${i === 0 ? "" : " "}${StringPrototypePadStart(NumberPrototypeToString(bytes[i], 16), 2, "0")}`;
  }
  if (length > 50) contents += ` ... ${length - 50} more byte${length === 51 ? "" : "s"}`;
  entries.add(`[Uint8Contents]: <${contents}>`);
  entries.add(`byteLength: ${formatPrimitive(length)}`);
}

function isIndex(key) {
  for (let i = 0; i < key.length; i++) {
    const code = StringPrototypeCharCodeAt(key, i);
    if (code < 0x30 || code > 0x39) return false;
  }
  return true;
}

/** The own enumerable properties, but for what is shown already. */
function addProperties(object, entries, { isList, hide }) {
  // A large list's keys are its indices, and there is no way to ask for the others alone.
  if (isList) {
    const length = ArrayIsArray(object) ? ownData(object, "length") : TypedArrayPrototypeGetLength(object);
    if (length > MAX_LOOKED_AT) return;
  }
  const keys = ReflectOwnKeys(object);
  let shown = 0;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (shown >= MAX_ITEMS || i - shown > MAX_LOOKED_AT * 2 || entries.full) {
      entries.more(keys.length - i, "key");
      return;
    }
    if (hide === HIDE_INDICES && typeof key === "string" && isIndex(key)) continue;
    if (hide === HIDE_ERROR_TEXT && (key === "name" || key === "message" || key === "stack")) continue;
    const desc = safeGetOwnPropertyDescriptor(object, key);
    if (desc === undefined || !desc.enumerable || (hide === HIDE_GETTERS && desc.get !== undefined)) continue;
    entries.add(`${formatKey(key)}: ${formatDescriptor(desc, entries)}`);
    shown++;
  }
}

module.exports = { MAX_TOTAL, inspect };
