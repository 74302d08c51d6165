// @ts-check
"use strict";
// What inspect.js asks about a single object, without going into its parts: its class, and the texts of functions,
// errors, regular expressions and boxed values. No getter of an app is called, nothing is looked up that it can change.

const {
  BigIntPrototypeValueOf, BooleanPrototypeValueOf, ErrorPrototype, FunctionPrototypeCall, FunctionPrototypeToString,
  NumberPrototypeValueOf, ObjectGetPrototypeOf, ObjectPrototype, RegExpPrototypeGetDotAll, RegExpPrototypeGetGlobal,
  RegExpPrototypeGetHasIndices, RegExpPrototypeGetIgnoreCase, RegExpPrototypeGetMultiline, RegExpPrototypeGetSource,
  RegExpPrototypeGetSticky, RegExpPrototypeGetUnicode, RegExpPrototypeGetUnicodeSets,
  StringPrototypeIncludes, StringPrototypeIndexOf, StringPrototypeSlice, StringPrototypeStartsWith,
  StringPrototypeValueOf, SymbolPrototypeValueOf, SymbolToStringTag, errorStackGetter,
  safeGetOwnPropertyDescriptor,
} = require("primordials");
const { platformClassOf } = require("platform_classes");
const { truncate, formatPrimitive } = require("inspect_text");

/** How far up a prototype chain to look: a Proxy can make it endless. */
const MAX_CHAIN = 1000;

/** Whether a built-in that insists on the kind of its `this` accepts the value. */
function accepts(method, value, argument = undefined) {
  try {
    method(value, argument);
    return true;
  } catch {
    return false;
  }
}

/** The value of an own property that is plain data; never a getter's. */
function ownData(object, key) {
  const desc = safeGetOwnPropertyDescriptor(object, key);
  return desc === undefined ? undefined : desc.value;
}

/** An object's class: name, tag, whether it is an Error's, and the first of our own classes up the prototype chain. */
function classOf(object) {
  /** @type {any} */
  const found = { __proto__: null, name: undefined, tag: "", platform: undefined, isError: false };
  let at = object;
  for (let i = 0; at !== null && i < MAX_CHAIN; i++) {
    if (found.name === undefined && (i > 0 || typeof object !== "function")) {
      const constructor = ownData(at, "constructor");
      const name = typeof constructor === "function" ? ownData(constructor, "name") : undefined;
      if (typeof name === "string" && name !== "") found.name = truncate(name, 200);
    }
    if (found.tag === "") {
      const tag = ownData(at, SymbolToStringTag);
      if (typeof tag === "string") found.tag = truncate(tag, 200);
    }
    if (at === ErrorPrototype && i > 0) found.isError = true;
    if (found.platform === undefined) found.platform = platformClassOf(at);
    at = ObjectGetPrototypeOf(at);
    if (at === ObjectPrototype && found.name !== undefined) break;
  }
  if (found.tag === found.name) found.tag = "";
  return found;
}

/** "Name", "Name(3) [tag]", "[Object: null prototype]"; empty for what needs no name. */
function prefixOf(cls, fallback, size = "") {
  const name = cls.name === undefined ? `[${fallback}${size}: null prototype]` : `${cls.name}${size}`;
  return cls.tag === "" ? name : `${name} [${cls.tag}]`;
}

/** "[Function: f]", "[AsyncFunction (anonymous)]", "[class A extends B]". */
function formatFunction(fn, cls) {
  const named = ownData(fn, "name");
  const name = typeof named === "string" && named !== "" ? truncate(named, 200) : undefined;
  let source = "";
  try {
    source = FunctionPrototypeToString(fn);
  } catch {
    // a Proxy of a function in some versions of V8
  }
  if (StringPrototypeStartsWith(source, "class")) {
    const parent = ObjectGetPrototypeOf(fn);
    const parentName = typeof parent === "function" ? ownData(parent, "name") : undefined;
    const base = typeof parentName === "string" && parentName !== "" ? ` extends ${truncate(parentName, 200)}` : "";
    return `[class ${name === undefined ? "(anonymous)" : name}${base}]`;
  }
  const kind = cls.tag !== "" && StringPrototypeIncludes(cls.tag, "Function") ? cls.tag
    : cls.name !== undefined && StringPrototypeIncludes(cls.name, "Function") ? cls.name : "Function";
  return name === undefined ? `[${kind} (anonymous)]` : `[${kind}: ${name}]`;
}

/** The stack, under the name that the error has now or its class has; "[Name: message]" if there is no stack. */
function formatError(error, cls) {
  const own = ownData(error, "name");
  const name = truncate(typeof own === "string" && own !== "" ? own : cls.name === undefined ? "Error" : cls.name, 200);
  let stack;
  try {
    const desc = safeGetOwnPropertyDescriptor(error, "stack");
    if (desc !== undefined) stack = desc.get !== undefined && desc.get === errorStackGetter ? FunctionPrototypeCall(errorStackGetter, error) : desc.value;
  } catch {
    // Error.prepareStackTrace is the app's
  }
  if (typeof stack !== "string" || stack === "") {
    const message = ownData(error, "message");
    return typeof message === "string" && message !== "" ? `[${name}: ${truncate(message)}]` : `[${name}]`;
  }
  // V8 wrote the first line when the error was created, mostly before the error got a name of its
  // own.
  if (StringPrototypeStartsWith(stack, "Error")) {
    const end = StringPrototypeIndexOf(stack, "\n");
    const head = end < 0 ? stack : StringPrototypeSlice(stack, 0, end);
    if (!StringPrototypeIncludes(head, name)) stack = `${name}${StringPrototypeSlice(stack, 5)}`;
  }
  return truncate(stack);
}

const FLAGS = [
  [RegExpPrototypeGetHasIndices, "d"], [RegExpPrototypeGetGlobal, "g"], [RegExpPrototypeGetIgnoreCase, "i"],
  [RegExpPrototypeGetMultiline, "m"], [RegExpPrototypeGetDotAll, "s"], [RegExpPrototypeGetUnicode, "u"],
  [RegExpPrototypeGetUnicodeSets, "v"], [RegExpPrototypeGetSticky, "y"],
];

function formatRegExp(regexp) {
  let flags = "";
  for (let i = 0; i < FLAGS.length; i++) if (FLAGS[i][0](regexp)) flags += FLAGS[i][1];
  return `/${truncate(RegExpPrototypeGetSource(regexp))}/${flags}`;
}

const BOXES = [
  ["String", StringPrototypeValueOf], ["Number", NumberPrototypeValueOf], ["Boolean", BooleanPrototypeValueOf],
  ["BigInt", BigIntPrototypeValueOf], ["Symbol", SymbolPrototypeValueOf],
];

/** "[String: 'x']"; undefined for what boxes no primitive value. */
function formatBoxed(object) {
  for (let i = 0; i < BOXES.length; i++) {
    if (accepts(BOXES[i][1], object)) return `[${BOXES[i][0]}: ${formatPrimitive(BOXES[i][1](object))}]`;
  }
  return undefined;
}

module.exports = {
  accepts, ownData, classOf, prefixOf, formatFunction, formatError, formatRegExp, formatBoxed,
};
