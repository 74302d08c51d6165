"use strict";
// What the two kinds of paths share: segments, names, extensions.

const { validateObject, validateString } = require("internal/validators");

/**
 * The segments of a path without `.` and with `..` resolved; a relative path keeps those that lead above it.
 * `isSeparator` tells of characters.
 */
function normalizeSegments(path, isAbsolute, separator, isSeparator) {
  const kept = [];
  let start = 0;
  for (let i = 0; i <= path.length; i++) {
    if (i < path.length && !isSeparator(path.charCodeAt(i))) continue;
    const segment = path.slice(start, i);
    start = i + 1;
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") kept.push(segment);
    else if (kept.length > 0 && kept.at(-1) !== "..") kept.pop();
    else if (!isAbsolute) kept.push("..");
  }
  return kept.join(separator);
}

/** The start and end of the last segment at or after `from`: separators at the end do not count. */
function lastSegment(path, from, isSeparator) {
  let end = path.length;
  while (end > from && isSeparator(path.charCodeAt(end - 1))) end--;
  let start = end;
  while (start > from && !isSeparator(path.charCodeAt(start - 1))) start--;
  return [start, end];
}

/** Where a name's extension begins, or its end: names that begin with their only dot have none. */
function extensionStart(name) {
  const dot = name.lastIndexOf(".");
  return dot <= 0 || name === ".." ? name.length : dot;
}

/** A name without `suffix`, unless it is all of it. */
function withoutSuffix(name, suffix) {
  return suffix !== undefined && suffix !== name && name.endsWith(suffix) ? name.slice(0, name.length - suffix.length) : name;
}

function formatWith(separator) {
  return function format(pathObject) {
    validateObject(pathObject, "pathObject");
    const { root, name, ext } = pathObject;
    const dir = pathObject.dir || root;
    const extension = ext ? `${ext[0] === "." ? "" : "."}${ext}` : "";
    const base = pathObject.base || `${name || ""}${extension}`;
    if (!dir) return base;
    return dir === root ? `${dir}${base}` : `${dir}${separator}${base}`;
  };
}

function matchesGlob(path, pattern, separator) {
  validateString(path, "path");
  validateString(pattern, "pattern");
  return require("internal/path/glob").matches(path, pattern, separator);
}

module.exports = { extensionStart, formatWith, lastSegment, matchesGlob, normalizeSegments, withoutSuffix };
