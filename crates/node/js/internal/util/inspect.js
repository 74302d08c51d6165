"use strict";
// util.inspect (https://nodejs.org/api/util.html#utilinspectobject-showhidden-depth-colors): any value as text, as Node
// writes it. This file goes through a value's parts; `inspect_kinds` knows what each kind of object begins with,
// `inspect_layout` where lines break.
//
// Deviation: regular expressions have one color.

const { proxyDetails } = binding("util");
const { isStackOverflowError } = require("internal/errors");
const { ARRAY, ARRAY_EXTRAS, OBJECT, escapeUnquoted, getStringWidth, layout, quote } = require("internal/util/inspect_layout");
const { colors, styles, stylizeNoColor, stylizeWithColor } = require("internal/util/inspect_styles");

const customInspect = Symbol.for("nodejs.util.inspect.custom");

const defaults = Object.seal({
  showHidden: false, depth: 2, colors: false, customInspect: true, showProxy: false, maxArrayLength: 100,
  maxStringLength: 10000, breakLength: 80, compact: 3, sorted: false, getters: false, numericSeparator: false,
});
/** Ends the inspection of what would become enormous. */
const MAX_LENGTH = 2 ** 27;

function inspect(value, options, ...legacy) {
  const context = {
    ...defaults, budget: {}, indentationLvl: 0, seen: [], currentDepth: 0, circular: undefined, userOptions: undefined,
    stylize: stylizeNoColor,
  };
  if (arguments.length === 1) {
    // as it is
  } else {
    if (legacy[0] !== undefined) context.depth = legacy[0];
    if (legacy[1] !== undefined) context.colors = legacy[1];
    if (typeof options === "boolean") {
      context.showHidden = options;
    } else if (options) {
      for (const key of Object.keys(options)) {
        if (Object.hasOwn(defaults, key) || key === "stylize") context[key] = options[key];
        else context.userOptions ??= options;
      }
    }
  }
  if (context.colors) context.stylize = stylizeWithColor;
  context.maxArrayLength ??= Infinity;
  context.maxStringLength ??= Infinity;
  return formatValue(context, value, 0);
}

/** What a custom inspect function is given; nothing that it could change here. */
function optionsFor(context, isForeign) {
  const options = {};
  for (const key of ["stylize", ...Object.keys(defaults)]) options[key] = context[key];
  Object.assign(options, context.userOptions);
  if (!isForeign) return options;
  Object.setPrototypeOf(options, null);
  for (const key of Object.keys(options)) {
    if (options[key] !== null && (typeof options[key] === "object" || typeof options[key] === "function")) delete options[key];
  }
  options.stylize = Object.setPrototypeOf((text, style) => {
    try {
      return `${context.stylize(text, style)}`;
    } catch {
      return text;
    }
  }, null);
  return options;
}

/** `depth`: how deep the value is; `inTypedArray`: it is one's buffer. */
function formatValue(context, value, depth, inTypedArray = undefined) {
  if (value === null) return context.stylize("null", "null");
  if (typeof value !== "object" && typeof value !== "function") return formatPrimitive(context.stylize, value, context);
  const given = value;
  let proxies = 0;
  for (let proxy = proxyDetails(value); proxy !== undefined; proxy = proxyDetails(value)) {
    if (context.showProxy && proxy[0] !== null) return formatProxy(context, proxy, depth);
    if (proxy[0] === null) return inProxies(context, context.stylize("<Revoked Proxy>", "special"), proxies);
    value = proxy[0];
    proxies++;
  }
  if (context.customInspect) {
    const custom = value[customInspect];
    if (typeof custom === "function" && custom !== inspect &&
      Object.getOwnPropertyDescriptor(value, "constructor")?.value?.prototype !== value) {
      const left = context.depth === null ? null : context.depth - depth;
      const options = optionsFor(context, proxies > 0 || !(given instanceof Object));
      const result = Reflect.apply(custom, given, [left, options, inspect]);
      if (result !== given) {
        if (typeof result !== "string") return formatValue(context, result, depth);
        return result.replaceAll("\n", `\n${" ".repeat(context.indentationLvl)}`);
      }
    }
  }
  if (context.seen.includes(value)) {
    context.circular ??= new Map();
    if (!context.circular.has(value)) context.circular.set(value, context.circular.size + 1);
    return context.stylize(`[Circular *${context.circular.get(value)}]`, "special");
  }
  return inProxies(context, formatObject(context, value, depth, inTypedArray), proxies);
}

function inProxies(context, text, proxies) {
  return context.stylize("Proxy(", "special").repeat(proxies) + text + context.stylize(")", "special").repeat(proxies);
}

function formatProxy(context, [target, handler], depth) {
  if (depth > context.depth && context.depth !== null) return context.stylize("Proxy [Array]", "special");
  context.indentationLvl += 2;
  const parts = [formatValue(context, target, depth + 1), formatValue(context, handler, depth + 1)];
  context.indentationLvl -= 2;
  return layout(context, parts, "", ["Proxy [", "]"], ARRAY_EXTRAS, depth + 1);
}

function formatObject(context, value, depth, inTypedArray) {
  const { describe } = require("internal/util/inspect_kinds");
  const shape = describe(context, value, depth, inTypedArray);
  if (typeof shape === "string") return shape;
  const { braces, keys, extras, extraKeys, prototypeEntries } = shape;
  let { base } = shape;
  if (depth > context.depth && context.depth !== null) {
    return context.stylize(shape.name === null ? shape.title : `[${shape.title}]`, "special");
  }
  depth++;
  context.seen.push(value);
  context.currentDepth = depth;
  const indentation = context.indentationLvl;
  const entries = [];
  try {
    for (const entry of shape.entries(depth)) entries.push(entry);
    for (const key of extraKeys) {
      context.indentationLvl += 2;
      const text = formatValue(context, extraOf(value, key), depth, shape.isTypedArray);
      context.indentationLvl -= 2;
      entries.push(`${context.stylize(`[${key}]`, "string")}: ${text}`);
    }
    for (const key of keys) entries.push(formatProperty(context, value, depth, key, extras));
    if (prototypeEntries !== undefined) entries.push(...prototypeEntries);
  } catch (error) {
    if (!isStackOverflowError(error)) throw error;
    context.seen.pop();
    context.indentationLvl = indentation;
    return context.stylize(`[${shape.title}: Inspection interrupted prematurely. Maximum call stack size exceeded.]`, "special");
  }
  const circular = context.circular?.get(value);
  if (circular !== undefined) {
    const reference = context.stylize(`<ref *${circular}>`, "special");
    if (context.compact !== true) base = base === "" ? reference : `${reference} ${base}`;
    else braces[0] = `${reference} ${braces[0]}`;
  }
  context.seen.pop();
  if (context.sorted) sortEntries(context, entries, keys.length, extras);
  const text = layout(context, entries, base, braces, extras, depth, value);
  const length = (context.budget[context.indentationLvl] || 0) + text.length;
  context.budget[context.indentationLvl] = length;
  if (length > MAX_LENGTH) context.depth = -1;
  return text;
}

/** A hidden attribute; of an object with another prototype, as its class has it. */
function extraOf(value, key) {
  const found = value[key];
  if (found !== undefined) return found;
  const Class = ArrayBuffer.isView(value) ? Object.getPrototypeOf(Uint8Array) : ArrayBuffer;
  return Reflect.get(Class.prototype, key, value);
}

function sortEntries(context, entries, keyCount, extras) {
  const compare = context.sorted === true ? undefined : context.sorted;
  if (extras === OBJECT) {
    entries.sort(compare);
  } else if (keyCount > 1) {
    const sorted = entries.slice(-keyCount).sort(compare);
    entries.splice(entries.length - keyCount, keyCount, ...sorted);
  }
}

function formatProperty(context, object, depth, key, kind, given = undefined, receiver = object) {
  const desc = given ?? Object.getOwnPropertyDescriptor(object, key) ??
    { value: object[key], enumerable: true, writable: true };
  let space = " ";
  let text;
  if (desc.value !== undefined) {
    const more = context.compact !== true || kind !== OBJECT ? 2 : 3;
    context.indentationLvl += more;
    text = formatValue(context, desc.value, depth);
    if (more === 3 && context.breakLength < getStringWidth(text, context.colors)) {
      space = `\n${" ".repeat(context.indentationLvl)}`;
    }
    context.indentationLvl -= more;
  } else if (desc.get !== undefined) {
    text = formatGetter(context, desc, depth, receiver);
  } else {
    text = desc.set !== undefined ? context.stylize("[Setter]", "special") : context.stylize("undefined", "undefined");
  }
  if (kind === ARRAY) return text;
  let name;
  if (typeof key === "symbol") name = context.stylize(escapeUnquoted(key.toString()), "symbol");
  else if (key === "__proto__") name = "['__proto__']";
  else if (/^[a-zA-Z_][a-zA-Z_0-9]*$/.test(key)) name = context.stylize(key, "name");
  else name = context.stylize(quote(key), "string");
  if (desc.enumerable === false) name = `[${name}]`;
  return `${name}:${space}${text}`;
}

function formatGetter(context, desc, depth, receiver) {
  const label = desc.set !== undefined ? "Getter/Setter" : "Getter";
  const special = (text) => context.stylize(text, "special");
  const wanted = context.getters === true || (context.getters === "get" && desc.set === undefined) ||
    (context.getters === "set" && desc.set !== undefined);
  if (!wanted) return special(`[${label}]`);
  context.indentationLvl += 2;
  try {
    const value = Reflect.apply(desc.get, receiver, []);
    if (value === null) return `${special(`[${label}:`)} ${context.stylize("null", "null")}${special("]")}`;
    if (typeof value === "object" || typeof value === "function") {
      return `${special(`[${label}]`)} ${formatValue(context, value, depth)}`;
    }
    return `${special(`[${label}:`)} ${formatPrimitive(context.stylize, value, context)}${special("]")}`;
  } catch (error) {
    return `${special(`[${label}:`)} <Inspection threw (${formatValue(context, error, depth)})>${special("]")}`;
  } finally {
    context.indentationLvl -= 2;
  }
}

// ---- Primitives

function grouped(digits) {
  return digits.replace(/\d(?=(\d{3})+$)/g, "$&_");
}

function formatNumber(stylize, number, separated) {
  if (Object.is(number, -0)) return stylize("-0", "number");
  const text = `${number}`;
  if (!separated || !Number.isFinite(number) || text.includes("e")) return stylize(text, "number");
  const [whole, fraction] = text.split(".");
  const separate = fraction === undefined ? "" : `.${fraction.replace(/\d{3}(?=\d)/g, "$&_")}`;
  return stylize(grouped(whole) + separate, "number");
}

function formatBigInt(stylize, bigint, separated) {
  return stylize(`${separated ? grouped(`${bigint}`) : bigint}n`, "bigint");
}

function formatPrimitive(stylize, value, context) {
  switch (typeof value) {
    case "string": return formatString(stylize, value, context);
    case "number": return formatNumber(stylize, value, context.numericSeparator);
    case "bigint": return formatBigInt(stylize, value, context.numericSeparator);
    case "symbol": return stylize(value.toString(), "symbol");
    default: return stylize(`${value}`, typeof value);
  }
}

function formatString(stylize, text, context) {
  let trailer = "";
  if (text.length > context.maxStringLength) {
    const more = text.length - context.maxStringLength;
    text = text.slice(0, context.maxStringLength);
    trailer = `... ${more} more character${more > 1 ? "s" : ""}`;
  }
  if (context.compact !== true && text.length > 16 && text.length > context.breakLength - context.indentationLvl - 4) {
    const lines = text.split(/(?<=\n)/).map((line) => stylize(quote(line), "string"));
    return lines.join(` +\n${" ".repeat(context.indentationLvl + 2)}`) + trailer;
  }
  return stylize(quote(text), "string") + trailer;
}

inspect.custom = customInspect;
inspect.colors = colors;
inspect.styles = styles;
Object.defineProperty(inspect, "defaultOptions", {
  __proto__: null, enumerable: true, configurable: true,
  get: () => defaults,
  set(options) {
    require("internal/validators").validateObject(options, "options");
    Object.assign(defaults, options);
  },
});

module.exports = { formatBigInt, formatNumber, formatPrimitive, formatProperty, formatValue, inspect };
