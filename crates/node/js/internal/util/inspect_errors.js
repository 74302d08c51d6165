"use strict";
// Errors for util.inspect: their stacks, in which the class and the code are made visible and repetitions are left out.

const { isDOMException, isKind, kinds } = binding("util");

const NATIVE_ERROR = kinds.indexOf("isNativeError");

function isError(value) {
  return isKind(value, NATIVE_ERROR) || value instanceof Error || isDOMException(value);
}

function read(object, key) {
  try {
    return { value: object[key], threw: false };
  } catch {
    return { value: undefined, threw: true };
  }
}

function stackOf(context, error) {
  const stack = read(error, "stack").value;
  if (!stack) return Error.prototype.toString.call(error);
  if (typeof stack === "string") return stack;
  const { formatValue } = require("internal/util/inspect");
  context.seen.push(error);
  context.indentationLvl += 4;
  const text = formatValue(context, stack);
  context.indentationLvl -= 4;
  context.seen.pop();
  return `${Error.prototype.toString.call(error)}\n    ${text}`;
}

/** The base of an error. Keys that the stack shows already are taken out of `keys`, the cause and errors are added. */
function formatError(context, error, name, tag, keys, prefixOf) {
  let stack;
  try {
    stack = stackOf(context, error);
  } catch {
    return Object.prototype.toString.call(error);
  }
  const message = read(error, "message"), errorName = read(error, "name");
  if (!context.showHidden) {
    hide(keys, "stack");
    for (const [key, { value, threw }] of [["message", message], ["name", errorName]]) {
      if (!threw && (typeof value !== "string" || stack.includes(value))) hide(keys, key);
    }
  }
  if (Object.hasOwn(error, "cause") && !keys.includes("cause")) keys.push("cause");
  if (Object.hasOwn(error, "errors") && Array.isArray(read(error, "errors").value) && !keys.includes("errors")) keys.push("errors");
  stack = withClass(stack, errorName.value ?? "Error", name, tag, prefixOf);

  // The message may have lines that look like frames.
  const text = typeof message.value === "string" ? message.value : "";
  const at = text === "" ? -1 : stack.indexOf(text);
  const frames = stack.indexOf("\n    at", at > 0 ? at + text.length : undefined);
  if (frames < 0) {
    stack = `[${stack}]`;
  } else {
    const lines = framesOf(context, error, stack.slice(frames + 1));
    stack = `${stack.slice(0, frames)}\n${colored(context, lines).join("\n")}`;
  }
  return context.indentationLvl === 0 ? stack : stack.replaceAll("\n", `\n${" ".repeat(context.indentationLvl)}`);
}

function hide(keys, key) {
  const at = keys.indexOf(key);
  if (at >= 0) keys.splice(at, 1);
}

/** Puts the class of the error in front where the stack has only its name. */
function withClass(stack, errorName, name, tag, prefixOf) {
  if (typeof errorName !== "string") {
    return stack.replace(`${String(errorName)}`, `${String(errorName)} [${prefixOf(name, tag, "Error").slice(0, -1)}]`);
  }
  let length = errorName.length;
  const next = stack[length];
  const plain = errorName.endsWith("Error") && stack.startsWith(errorName) &&
    (next === undefined || next === ":" || next === "\n");
  if (name !== null && !plain) return stack;
  let fallback = "Error";
  if (name === null) {
    const start = /^([A-Z][a-z_ A-Z0-9[\]()-]+)(?::|\n {4}at)/.exec(stack) ?? /^([a-z_A-Z0-9-]*Error)$/.exec(stack);
    fallback = start?.[1] ?? "";
    ({ length } = fallback);
    fallback ||= "Error";
  }
  const prefix = prefixOf(name, tag, fallback).slice(0, -1);
  if (errorName === prefix) return stack;
  if (!prefix.includes(errorName)) return `${prefix} [${errorName}]${stack.slice(length)}`;
  return length === 0 ? `${prefix}: ${stack}` : `${prefix}${stack.slice(length)}`;
}

function framesOf(context, error, text) {
  const frames = text.split("\n");
  const { value: cause } = read(error, "cause");
  if (cause !== null && typeof cause === "object" && isError(cause)) {
    const causeStack = stackOf(context, cause);
    const start = causeStack.indexOf("\n    at");
    if (start >= 0) {
      const { length, at } = commonRun(frames, causeStack.slice(start + 1).split("\n"));
      if (length > 3) {
        const line = `    ... ${length - 2} lines matching cause stack trace ...`;
        frames.splice(at + 1, length - 2, context.stylize(line, "undefined"));
      }
    }
  }
  return frames.length > 10 ? collapse(context, frames) : frames;
}

/** The first run of more than three lines of `left` that is also in `right`. */
function commonRun(left, right) {
  for (let at = 0; at < left.length - 3; at++) {
    const there = right.indexOf(left[at]);
    if (there < 0) continue;
    let length = 1;
    while (at + length < left.length && there + length < right.length && left[at + length] === right[there + length]) length++;
    if (length > 3) return { length, at };
  }
  return { length: 0, at: 0 };
}

/** Leaves the repetitions of a recursion out. */
function collapse(context, frames) {
  const out = [];
  for (let at = 0; at < frames.length;) {
    let found = 0, times = 0;
    for (let length = 1; length <= 5 && at + length * 2 <= frames.length && found === 0; length++) {
      let repeats = 0;
      while (sameRun(frames, at, at + (repeats + 1) * length, length)) repeats++;
      if (repeats * length >= 3) [found, times] = [length, repeats];
    }
    if (found === 0) {
      out.push(frames[at++]);
      continue;
    }
    out.push(...frames.slice(at, at + found));
    const what = times > 1 ? `${found} lines ${times} times...` : "lines ...";
    out.push(context.stylize(`    ... collapsed ${found * times} duplicate lines matching above ${what}`, "undefined"));
    at += found * (times + 1);
  }
  return out;
}

function sameRun(frames, left, right, length) {
  if (right + length > frames.length) return false;
  for (let i = 0; i < length; i++) if (frames[left + i] !== frames[right + i]) return false;
  return true;
}

/** Frames of built-in modules are grey, the names of packages underlined. */
function colored(context, lines) {
  if (!context.colors) return lines;
  return lines.map((line) => {
    if (/ \(?node:/.test(line)) return context.stylize(line, "undefined");
    return line.replace(/(?<=[/\\]node_modules[/\\])(?:@[^/\\]+[/\\])?[^/\\:)]+/g, (name) => context.stylize(name, "module"));
  });
}

module.exports = { formatError, isError };
