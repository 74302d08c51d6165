"use strict";
// POSIX paths (https://nodejs.org/api/path.html). The working folder of an app is "/".

const { validateString } = require("internal/validators");
const { extensionStart, formatWith, lastSegment, matchesGlob, normalizeSegments, withoutSuffix } = require("internal/path/common");

const isSeparator = (code) => code === 47;

function currentFolder() {
  return globalThis.process?.cwd?.() ?? "/";
}

function resolve(...paths) {
  let resolved = "";
  for (let i = paths.length - 1; i >= 0 && resolved[0] !== "/"; i--) {
    validateString(paths[i], `paths[${i}]`);
    if (paths[i] !== "") resolved = resolved === "" ? paths[i] : `${paths[i]}/${resolved}`;
  }
  if (resolved[0] !== "/") resolved = `${currentFolder()}/${resolved}`;
  return `/${normalizeSegments(resolved, true, "/", isSeparator)}`;
}

function normalize(path) {
  validateString(path, "path");
  if (path === "") return ".";
  const isAbsolute_ = path[0] === "/";
  const end = path.endsWith("/") ? "/" : "";
  const inner = normalizeSegments(path, isAbsolute_, "/", isSeparator);
  if (inner === "") return isAbsolute_ ? "/" : `.${end}`;
  return `${isAbsolute_ ? "/" : ""}${inner}${end}`;
}

function isAbsolute(path) {
  validateString(path, "path");
  return path[0] === "/";
}

function join(...paths) {
  for (const path of paths) validateString(path, "path");
  const joined = paths.filter((path) => path !== "").join("/");
  return joined === "" ? "." : normalize(joined);
}

function relative(from, to) {
  validateString(from, "from");
  validateString(to, "to");
  if (from === to) return "";
  const [left, right] = [resolve(from), resolve(to)].map((path) => path.split("/").filter((part) => part !== ""));
  let same = 0;
  while (same < left.length && left[same] === right[same]) same++;
  return [...left.slice(same).fill(".."), ...right.slice(same)].join("/");
}

function dirname(path) {
  validateString(path, "path");
  if (path === "") return ".";
  const [start] = lastSegment(path, 0, isSeparator);
  if (start === 0) return path[0] === "/" ? "/" : ".";
  if (start === 1) return "/";
  // "//a" is below "//".
  return start === 2 && path.startsWith("//") ? "//" : path.slice(0, start - 1);
}

function basename(path, suffix) {
  if (suffix !== undefined) validateString(suffix, "suffix");
  validateString(path, "path");
  if (suffix !== undefined && suffix === path) return "";
  return withoutSuffix(path.slice(...lastSegment(path, 0, isSeparator)), suffix);
}

function extname(path) {
  validateString(path, "path");
  const name = basename(path);
  return name.slice(extensionStart(name));
}

function parse(path) {
  validateString(path, "path");
  const [start, end] = lastSegment(path, 0, isSeparator);
  const root = path[0] === "/" ? "/" : "";
  const base = path.slice(start, end);
  const at = extensionStart(base);
  const dir = start > 1 ? path.slice(0, start - 1) : root;
  return { root, dir, base, ext: base.slice(at), name: base.slice(0, at) };
}

const posix = {
  resolve, normalize, isAbsolute, join, relative, toNamespacedPath: (path) => path, dirname, basename, extname,
  format: formatWith("/"), parse,
  matchesGlob: (path, pattern) => matchesGlob(path, pattern, "/"),
  sep: "/", delimiter: ":", win32: undefined, posix: undefined, _makeLong: undefined,
};
posix._makeLong = posix.toNamespacedPath;
posix.posix = posix;

module.exports = posix;

const win32 = require("internal/path/win32");
posix.win32 = win32;
win32.win32 = win32;
win32.posix = posix;
