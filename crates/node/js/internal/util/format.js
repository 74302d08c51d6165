"use strict";
// util.format and formatWithOptions: the placeholders of printf (https://nodejs.org/api/util.html#utilformatformat-args).

const { proxyDetails } = binding("util");
const { formatBigInt, formatNumber, inspect } = require("internal/util/inspect");
const { stylizeNoColor } = require("internal/util/inspect_styles");

function numberText(number, options) {
  const separated = options?.numericSeparator ?? inspect.defaultOptions.numericSeparator;
  return typeof number === "bigint" ? formatBigInt(stylizeNoColor, number, separated)
    : formatNumber(stylizeNoColor, number, separated);
}

function jsonText(value) {
  try {
    return `${JSON.stringify(value)}`;
  } catch (error) {
    if (error instanceof TypeError && /circular/i.test(error.message)) return "[Circular]";
    throw error;
  }
}

/** Whether an object's text is the built-in one, which says nothing about it. */
function hasBuiltInToString(value) {
  const proxy = proxyDetails(value);
  if (proxy !== undefined) return proxy[0] === null || hasBuiltInToString(proxy[0]);
  const hasToString = typeof value.toString === "function";
  const hasToPrimitive = typeof value[Symbol.toPrimitive] === "function";
  if (!hasToString && !hasToPrimitive) return true;
  const own = (object) => (hasToString && Object.hasOwn(object, "toString")) ||
    (hasToPrimitive && Object.hasOwn(object, Symbol.toPrimitive));
  if (own(value)) return false;
  let at = value;
  do at = Object.getPrototypeOf(at); while (at !== null && !own(at));
  if (at === null) return true;
  const constructor = Object.getOwnPropertyDescriptor(at, "constructor")?.value;
  const { builtIns } = require("internal/util/inspect_kinds");
  return typeof constructor === "function" && builtIns.has(constructor.name);
}

function stringText(value, options) {
  if (typeof value === "number" || typeof value === "bigint") return numberText(value, options);
  if (typeof value !== "object" || value === null || !hasBuiltInToString(value)) return String(value);
  return inspect(value, { ...options, depth: 0, colors: false, compact: 3 });
}

/** The text for one placeholder; undefined where it is none. */
function placeholder(letter, value, options) {
  switch (letter) {
    case "s": return stringText(value, options);
    case "j": return jsonText(value);
    case "d": return typeof value === "bigint" ? numberText(value, options)
      : typeof value === "symbol" ? "NaN" : numberText(Number(value), options);
    case "i": return typeof value === "bigint" ? numberText(value, options)
      : typeof value === "symbol" ? "NaN" : numberText(Number.parseInt(value), options);
    case "f": return typeof value === "symbol" ? "NaN" : numberText(Number.parseFloat(value), options);
    case "O": return inspect(value, options);
    case "o": return inspect(value, { ...options, showHidden: true, showProxy: true, depth: 4 });
    case "c": return "";
    default: return undefined;
  }
}

function formatAll(options, args) {
  const [first] = args;
  let text = "", next = 0, separator = "";
  if (typeof first === "string") {
    if (args.length === 1) return first;
    next = 1;
    let done = 0;
    for (let at = first.indexOf("%"); at >= 0 && at < first.length - 1; at = first.indexOf("%", at)) {
      const letter = first[at + 1];
      let part;
      if (letter === "%") part = "%";
      else if (next < args.length) part = placeholder(letter, args[next], options);
      if (part === undefined) {
        at += 2;
        if (letter === "%") at--;
        continue;
      }
      if (letter !== "%") next++;
      text += first.slice(done, at) + part;
      done = at += 2;
    }
    text += first.slice(done);
    separator = " ";
  }
  for (; next < args.length; next++) {
    text += separator + (typeof args[next] === "string" ? args[next] : inspect(args[next], options));
    separator = " ";
  }
  return text;
}

function format(...args) {
  return formatAll(undefined, args);
}

function formatWithOptions(options, ...args) {
  require("internal/validators").validateObject(options, "inspectOptions");
  return formatAll(options, args);
}

module.exports = { format, formatWithOptions };
