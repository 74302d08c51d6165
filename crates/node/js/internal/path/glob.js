"use strict";
// path.matchesGlob (https://nodejs.org/api/path.html#pathmatchesglobpath-pattern): `*`, `?`, `**`, classes and braces.

const MAX_ALTERNATIVES = 1000;

/** The patterns that a pattern with braces stands for. */
function expand(pattern) {
  const open = pattern.indexOf("{");
  if (open < 0) return [pattern];
  let depth = 0;
  const commas = [];
  for (let i = open; i < pattern.length; i++) {
    if (pattern[i] === "\\") {
      i++;
    } else if (pattern[i] === "{") {
      depth++;
    } else if (pattern[i] === "," && depth === 1) {
      commas.push(i);
    } else if (pattern[i] === "}" && --depth === 0) {
      if (commas.length === 0) return expand(pattern.slice(i + 1)).map((rest) => pattern.slice(0, i + 1) + rest);
      const ends = [...commas, i];
      const parts = [open, ...commas].map((start, index) => pattern.slice(start + 1, ends[index]));
      const all = parts.flatMap((part) => expand(pattern.slice(0, open) + part + pattern.slice(i + 1)));
      if (all.length > MAX_ALTERNATIVES) throw new RangeError("the pattern has too many alternatives");
      return all;
    }
  }
  return [pattern];
}

const literal = (character) => character.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

/** A regular expression for one segment. */
function segmentToRegExp(segment) {
  let source = segment.startsWith(".") ? "" : "(?!\\.)";
  for (let i = 0; i < segment.length; i++) {
    const character = segment[i];
    if (character === "*") {
      while (segment[i + 1] === "*") i++;
      source += "[^/]*";
    } else if (character === "?") {
      source += "[^/]";
    } else if (character === "[" && segment.indexOf("]", i + 2) > 0) {
      const end = segment.indexOf("]", i + 2);
      const inner = segment.slice(i + 1, end).replace(/[\\[]/g, "\\$&").replace(/^!/, "^");
      source += `[${inner}]`;
      i = end;
    } else if (character === "\\" && i + 1 < segment.length) {
      source += literal(segment[++i]);
    } else {
      source += literal(character);
    }
  }
  return new RegExp(`^${source}$`);
}

function matchSegments(segments, patterns) {
  // Which patterns can come next, segment by segment: no backtracking.
  const close = (states) => {
    for (const state of states) if (patterns[state] === "**") states.add(state + 1);
    return states;
  };
  let states = close(new Set([0]));
  for (const segment of segments) {
    const next = new Set();
    for (const state of states) {
      const pattern = patterns[state];
      if (pattern === "**") {
        if (!segment.startsWith(".")) next.add(state);
      } else if (pattern !== undefined && pattern.test(segment)) {
        next.add(state + 1);
      }
    }
    states = close(next);
  }
  return states.has(patterns.length);
}

function matches(path, pattern, separator) {
  const slashed = separator === "\\" ? path.replaceAll("\\", "/") : path;
  const patterns = expand(separator === "\\" ? pattern.replaceAll("\\", "/") : pattern);
  const segments = slashed.split("/");
  return patterns.some((one) =>
    matchSegments(segments, one.split("/").map((part) => part === "**" ? part : segmentToRegExp(part))));
}

module.exports = { matches };
