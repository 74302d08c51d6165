"use strict";
// Where a path is: in /tmp, or in the app's folder. `find` answers with a node, of memory or of the disk; both have facts(),
// isFolder and, files, read(). Nothing on the disk can be written.

const { list, read, realpath, stat } = binding("fs");
const constants = require("internal/fs/constants");
const { fsError } = require("internal/fs/errors");
const memory = require("internal/fs/memory");
const { posix } = require("path");

const { S_IFDIR, S_IFIFO, S_IFLNK, S_IFREG } = constants;
const MAX_LINKS = 40;
const DEVICE = 1;
/** By the runtime's number of a kind. */
const MODES = [S_IFREG | 0o444, S_IFDIR | 0o555, S_IFLNK | 0o777, S_IFIFO];
/** By the runtime's reason: missing, outside, hidden, of another kind, unreadable. */
const REASONS = { "-1": "ENOENT", "-2": "EACCES", "-3": "EACCES", "-4": "EACCES", "-5": "EIO" };

/** What is on the disk. */
class DiskNode {
  #path;
  #facts;

  constructor(path, facts) {
    this.#path = path;
    this.#facts = facts;
  }

  get path() { return this.#path; }
  get isFolder() { return this.#facts[0] === 1; }
  get isLink() { return this.#facts[0] === 2; }
  get size() { return this.#facts[1]; }

  facts() {
    const [kind, size, ino, mtime, atime, ctime] = this.#facts;
    return { dev: DEVICE, mode: MODES[kind], nlink: 1, ino, size, atime, mtime, ctime, birthtime: ctime };
  }

  /** How many bytes were read; an error's code where none can be. */
  read(into, offset, length, position) {
    let done = 0;
    while (done < length) {
      const count = read(this.#path, into, offset + done, length - done, position + done);
      if (count < 0) return REASONS[count];
      if (count === 0) break;
      done += count;
    }
    return done;
  }
}

function isInMemory(path) {
  return path === "/tmp" || path.startsWith("/tmp/");
}

const absolute = (path) => posix.resolve("/", path);

/**
 * { node, path, parent, name }: the node at a path, links followed. Without a node: `parent` is the folder of /tmp that would
 * have it, undefined elsewhere; `code` says why there is none.
 */
function find(path, keepLink = false, links = 0) {
  path = absolute(path);
  if (!isInMemory(path)) return findOnDisk(path, keepLink);
  let node = memory.root;
  let parent;
  let name = "";
  const names = path.split("/").slice(2);
  for (let i = 0; i < names.length; i++) {
    if (!node.isFolder) return { path, code: "ENOTDIR" };
    [parent, name] = [node, names[i]];
    if (name.length > 255) return { path, code: "ENAMETOOLONG" };
    const isLast = i === names.length - 1;
    node = parent.entries.get(name);
    if (node === undefined) return { path, parent: isLast ? parent : undefined, name, code: "ENOENT" };
    if (node instanceof memory.Link && !(isLast && keepLink)) {
      if (links >= MAX_LINKS) return { path, code: "ELOOP" };
      const here = `/tmp/${names.slice(0, i).join("/")}`;
      const target = posix.resolve(here, node.target);
      return find(posix.join(target, ...names.slice(i + 1)), keepLink, links + 1);
    }
  }
  return { path, node, parent, name };
}

function findOnDisk(path, keepLink) {
  const facts = stat(path, keepLink);
  if (typeof facts === "number") return { path, code: REASONS[facts] };
  return { path, node: new DiskNode(path, facts) };
}

/** The same, with an error where there is nothing. */
function locate(path, syscall, shown, keepLink = false, dest = undefined) {
  const found = find(path, keepLink);
  if (found.node === undefined) throw fsError(found.code, syscall, shown, dest);
  return found;
}

/** Where something new can be: a folder of /tmp. */
function locateNew(path, syscall, shown, dest = undefined) {
  const found = find(path, true);
  if (found.node !== undefined) throw fsError("EEXIST", syscall, shown, dest);
  if (found.parent === undefined) {
    const parent = isInMemory(found.path) ? undefined : find(posix.dirname(found.path)).node;
    throw fsError(parent?.isFolder ? "EROFS" : found.code, syscall, shown, dest);
  }
  if (!memory.hasRoom()) throw fsError("ENOSPC", syscall, shown, dest);
  return found;
}

/** What is there and may be changed: a node of /tmp, and not /tmp itself. */
function locateOwn(path, syscall, shown, dest = undefined) {
  const found = locate(path, syscall, shown, true, dest);
  if (found.node instanceof DiskNode) throw fsError("EROFS", syscall, shown, dest);
  if (found.parent === undefined) throw fsError("EBUSY", syscall, shown, dest);
  return found;
}

/** [name, mode] of each entry of a folder, in order. */
function entriesOf(node, syscall, shown) {
  if (!node.isFolder) throw fsError("ENOTDIR", syscall, shown);
  const found = [];
  if (node instanceof DiskNode) {
    const names = list(node.path);
    if (typeof names === "number") throw fsError(REASONS[names], syscall, shown);
    for (let i = 0; i < names.length; i += 2) found.push([names[i], MODES[names[i + 1]]]);
  } else {
    for (const [name, child] of node.entries) found.push([name, child.mode]);
  }
  return found.sort(([one], [other]) => (one < other ? -1 : 1));
}

/** The path without links. */
function realPath(path, syscall, shown) {
  const { node, path: found } = locate(path, syscall, shown);
  if (!(node instanceof DiskNode)) return found;
  const real = realpath(node.path);
  if (typeof real === "number") throw fsError(REASONS[real], syscall, shown);
  return real;
}

module.exports = { DiskNode, absolute, entriesOf, find, locate, locateNew, locateOwn, realPath };
