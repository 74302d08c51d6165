"use strict";
// Windows paths (https://nodejs.org/api/path.html#pathwin32). There are no drives here: a relative path is below "C:\\".

const { validateString } = require("internal/validators");
const { extensionStart, formatWith, lastSegment, matchesGlob, normalizeSegments, withoutSuffix } = require("internal/path/common");

const isSeparator = (code) => code === 92 || code === 47;
const isLetter = (code) => (code >= 65 && code <= 90) || (code >= 97 && code <= 122);

/** { device, root, isAbsolute }: device is "C:" or "\\\\host\\share"; root is the length of both with the separator after it. */
function split(path) {
  const plain = { device: "", root: 0, isAbsolute: false };
  if (path === "") return plain;
  if (isSeparator(path.charCodeAt(0))) {
    const unc = /^[\\/]{2}([^\\/]+)[\\/]+([^\\/]+)([\\/]*)/.exec(path);
    if (unc === null) return { device: "", root: 1, isAbsolute: true };
    const [all, host, share, rest] = unc;
    if (host === "." || host === "?") {
      // Devices: what follows is below them.
      const device = `\\\\${host}`;
      return { device, root: 4, isAbsolute: true };
    }
    const root = all.length - Math.max(rest.length - 1, 0);
    return { device: `\\\\${host}\\${share}`, root, isAbsolute: true };
  }
  if (!isLetter(path.charCodeAt(0)) || path[1] !== ":") return plain;
  const isAbsolute = path.length > 2 && isSeparator(path.charCodeAt(2));
  return { device: path.slice(0, 2), root: isAbsolute ? 3 : 2, isAbsolute };
}

function inner(path, isAbsolute) {
  return normalizeSegments(path, isAbsolute, "\\", isSeparator);
}

function resolve(...paths) {
  let device = "";
  let tail = "";
  let isAbsolute = false;
  for (let i = paths.length - 1; i >= -1; i--) {
    let path;
    if (i >= 0) {
      path = paths[i];
      validateString(path, `paths[${i}]`);
      if (path === "") continue;
    } else {
      path = device === "" ? "C:\\" : `${device}\\`;
    }
    const parts = split(path);
    if (parts.device !== "") {
      if (device === "") device = parts.device;
      else if (parts.device.toLowerCase() !== device.toLowerCase()) continue;
    }
    if (!isAbsolute) {
      tail = `${path.slice(parts.root)}\\${tail}`;
      isAbsolute = parts.isAbsolute;
    }
    if (isAbsolute && device !== "") break;
  }
  return `${device}${isAbsolute ? "\\" : ""}${inner(tail, isAbsolute)}` || ".";
}

function normalize(path) {
  validateString(path, "path");
  if (path === "") return ".";
  if (path.length === 1) return isSeparator(path.charCodeAt(0)) ? "\\" : path;
  const { device, root, isAbsolute } = split(path);
  let tail = inner(path.slice(root), isAbsolute);
  if (tail === "" && !isAbsolute) tail = ".";
  if (tail !== "" && isSeparator(path.charCodeAt(path.length - 1))) tail += "\\";
  if (!isAbsolute && device === "" && path.includes(":")) {
    // What begins like a drive after normalization must not become one.
    if (tail.length >= 2 && isLetter(tail.charCodeAt(0)) && tail[1] === ":") return `.\\${tail}`;
    if (/:(?:[\\/]|$)/.test(path)) return `.\\${tail}`;
  }
  return `${device}${isAbsolute ? "\\" : ""}${tail}`;
}

function isAbsolute(path) {
  validateString(path, "path");
  return split(path).isAbsolute;
}

function join(...paths) {
  for (const path of paths) validateString(path, "path");
  const given = paths.filter((path) => path !== "");
  if (given.length === 0) return ".";
  let joined = given.join("\\");
  // Two separators at the front are a host's, and only the first part may say so.
  const [first] = given;
  const isHost = first.length > 2 && /^[\\/]{2}[^\\/]/.test(first);
  if (!isHost) joined = joined.replace(/^[\\/]{2,}/, "\\");
  return normalize(joined);
}

function relative(from, to) {
  validateString(from, "from");
  validateString(to, "to");
  if (from === to) return "";
  const [left, right] = [resolve(from), resolve(to)];
  if (left.toLowerCase() === right.toLowerCase()) return "";
  const [a, b] = [left, right].map((path) => path.split("\\").filter((part) => part !== ""));
  let same = 0;
  while (same < a.length && same < b.length && a[same].toLowerCase() === b[same].toLowerCase()) same++;
  if (same === 0) return right;
  return [...a.slice(same).fill(".."), ...b.slice(same)].join("\\");
}

function dirname(path) {
  validateString(path, "path");
  if (path === "") return ".";
  const { root } = split(path);
  const [start] = lastSegment(path, root, isSeparator);
  if (start <= root) return root > 0 ? path.slice(0, root) : ".";
  return path.slice(0, start - 1);
}

function basename(path, suffix) {
  if (suffix !== undefined) validateString(suffix, "suffix");
  validateString(path, "path");
  if (suffix !== undefined && suffix === path) return "";
  const from = path.length >= 2 && isLetter(path.charCodeAt(0)) && path[1] === ":" ? 2 : 0;
  return withoutSuffix(path.slice(...lastSegment(path, from, isSeparator)), suffix);
}

function extname(path) {
  validateString(path, "path");
  const name = basename(path);
  return name.slice(extensionStart(name));
}

function parse(path) {
  validateString(path, "path");
  const { root: length } = split(path);
  const root = path.slice(0, length);
  const [start, end] = lastSegment(path, length, isSeparator);
  const base = path.slice(start, end);
  const at = extensionStart(base);
  const dir = start > length ? path.slice(0, start - 1) : root;
  return { root, dir, base, ext: base.slice(at), name: base.slice(0, at) };
}

function toNamespacedPath(path) {
  if (typeof path !== "string" || path === "") return path;
  const resolved = resolve(path);
  if (resolved.length <= 2) return path;
  if (resolved.startsWith("\\\\")) {
    return resolved[2] === "?" || resolved[2] === "." ? resolved : `\\\\?\\UNC\\${resolved.slice(2)}`;
  }
  return isLetter(resolved.charCodeAt(0)) && resolved.startsWith(":\\", 1) ? `\\\\?\\${resolved}` : resolved;
}

module.exports = {
  resolve, normalize, isAbsolute, join, relative, toNamespacedPath, dirname, basename, extname, format: formatWith("\\"), parse,
  matchesGlob: (path, pattern) => matchesGlob(path, pattern, "\\"),
  sep: "\\", delimiter: ";", win32: undefined, posix: undefined, _makeLong: toNamespacedPath,
};
