"use strict";
// fs.glob (https://nodejs.org/api/fs.html#fspromisesglobpattern-options): names that match patterns of *, **, ?, [] and {}.

const { readdir } = require("internal/fs/sync");
const { toPath } = require("internal/fs/arguments");
const { posix } = require("path");

const { matchesGlob } = posix;

function* glob(patterns, options = undefined) {
  const { cwd = "/", exclude = undefined, withFileTypes = false } = options ?? {};
  const root = toPath(cwd, "options.cwd");
  const list = Array.isArray(patterns) ? patterns : [patterns];
  for (const pattern of list) require("internal/validators").validateString(pattern, "patterns");
  const isExcluded = (entry, path) =>
    typeof exclude === "function" ? exclude(withFileTypes ? entry : path)
      : Array.isArray(exclude) && exclude.some((pattern) => matchesGlob(path, pattern));
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of readdir(posix.join(root, folder), { withFileTypes: true })) {
      const path = posix.join(folder, entry.name);
      if (isExcluded(entry, path)) continue;
      if (list.some((pattern) => matchesGlob(path, posix.normalize(pattern)))) yield withFileTypes ? entry : path;
      if (entry.isDirectory()) folders.push(path);
    }
  }
}

module.exports = { glob };
