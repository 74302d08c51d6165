"use strict";
// The functions of node:fs that make, move and remove names: below /tmp alone. As in sync.js, without "Sync".

const { codes } = require("internal/errors");
const { validateBoolean, validateInteger } = require("internal/validators");
const { encoded, objectOptions, toMode, toOptions, toPath } = require("internal/fs/arguments");
const { COPYFILE_EXCL } = require("internal/fs/constants");
const { fsError, fsSystemError } = require("internal/fs/errors");
const memory = require("internal/fs/memory");
const volumes = require("internal/fs/volumes");
const { posix } = require("path");

const { DiskNode } = volumes;
const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const RANDOM_LETTERS = 6;

function mkdir(path, options = undefined) {
  const { recursive = false, mode = 0o777 } = typeof options === "object" && options !== null ? options : { mode: options ?? 0o777 };
  const shown = toPath(path);
  validateBoolean(recursive, "options.recursive");
  const bits = toMode(mode, 0o777) & ~memory.UMASK;
  if (!recursive) {
    const { parent, name } = volumes.locateNew(shown, "mkdir", shown);
    parent.add(name, new memory.Folder(bits));
    return undefined;
  }
  const missing = [];
  let at = volumes.absolute(shown);
  let found = volumes.find(at);
  for (; found.node === undefined && found.code === "ENOENT"; found = volumes.find(at)) {
    missing.push(at);
    at = posix.dirname(at);
  }
  if (found.node === undefined) throw fsError(found.code, "mkdir", shown);
  if (!found.node.isFolder) throw fsError(missing.length === 0 ? "EEXIST" : "ENOTDIR", "mkdir", shown);
  const first = missing.at(-1);
  while (missing.length > 0) {
    const { parent, name } = volumes.locateNew(missing.pop(), "mkdir", shown);
    parent.add(name, new memory.Folder(bits));
  }
  return first;
}

function mkdtemp(prefix, options = undefined) {
  const shown = toPath(prefix, "prefix");
  const random = crypto.getRandomValues(new Uint8Array(RANDOM_LETTERS));
  const path = shown + Array.from(random, (byte) => LETTERS[byte % LETTERS.length]).join("");
  const found = volumes.locateNew(path, "mkdtemp", `${shown}XXXXXX`);
  found.parent.add(found.name, new memory.Folder(0o700));
  return encoded(path, toOptions(options).encoding);
}

function unlink(path) {
  const shown = toPath(path);
  const { node, parent, name } = volumes.locateOwn(shown, "unlink", shown);
  if (node.isFolder) throw fsError("EISDIR", "unlink", shown);
  parent.remove(name);
}

function rmdir(path, options = undefined) {
  const shown = toPath(path);
  if (options?.recursive) throw new codes.ERR_INVALID_ARG_VALUE("options.recursive", true, "is no longer supported: use fs.rm");
  const { node, parent, name } = volumes.locateOwn(shown, "rmdir", shown);
  if (!node.isFolder) throw fsError("ENOTDIR", "rmdir", shown);
  if (node.entries.size > 0) throw fsError("ENOTEMPTY", "rmdir", shown);
  parent.remove(name);
}

function rm(path, options = undefined) {
  const { recursive, force, maxRetries, retryDelay } = objectOptions(options, { recursive: false, force: false, maxRetries: 0, retryDelay: 100 });
  validateBoolean(recursive, "options.recursive");
  validateBoolean(force, "options.force");
  validateInteger(retryDelay, "options.retryDelay", 0, 2147483647);
  validateInteger(maxRetries, "options.maxRetries", 0, 4294967295);
  const shown = toPath(path);
  const { code } = volumes.find(shown, true);
  if (force && code === "ENOENT") return;
  const { node, parent, name } = volumes.locateOwn(shown, "rm", shown);
  if (node.isFolder && !recursive) {
    throw fsSystemError("ERR_FS_EISDIR", "EISDIR", "rm", "is a directory", shown);
  }
  empty(node);
  parent.remove(name);
}

/** Releases all that is below a folder. */
function empty(top) {
  const folders = [top];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    if (!folder.isFolder) continue;
    for (const [name, child] of folder.entries) {
      if (child.isFolder) folders.push(child);
      folder.remove(name);
    }
  }
}

function rename(from, to) {
  const [shown, dest] = [toPath(from, "oldPath"), toPath(to, "newPath")];
  const { node, parent, name, path } = volumes.locateOwn(shown, "rename", shown, dest);
  const target = volumes.find(dest, true);
  if (target.parent === undefined) {
    if (target.node instanceof DiskNode || !target.path.startsWith("/tmp")) throw fsError("EXDEV", "rename", shown, dest);
    throw fsError(target.code ?? "EBUSY", "rename", shown, dest);
  }
  if (target.node === node) return;
  if (`${target.path}/`.startsWith(`${path}/`)) throw fsError("EINVAL", "rename", shown, dest);
  if (target.node !== undefined) {
    if (target.node.isFolder && !node.isFolder) throw fsError("EISDIR", "rename", shown, dest);
    if (!target.node.isFolder && node.isFolder) throw fsError("ENOTDIR", "rename", shown, dest);
    if (target.node.isFolder && target.node.entries.size > 0) throw fsError("ENOTEMPTY", "rename", shown, dest);
    target.parent.remove(target.name);
  }
  parent.entries.delete(name);
  parent.touch();
  target.parent.add(target.name, node);
}

function symlink(target, path, _type = undefined) {
  const [text, shown] = [toPath(target, "target"), toPath(path)];
  const { parent, name } = volumes.locateNew(shown, "symlink", text, shown);
  parent.add(name, new memory.Link(text));
}

function link(from, to) {
  const [shown, dest] = [toPath(from, "existingPath"), toPath(to, "newPath")];
  const { node } = volumes.locate(shown, "link", shown, true, dest);
  if (node.isFolder) throw fsError("EPERM", "link", shown, dest);
  const { parent, name } = volumes.locateNew(dest, "link", shown, dest);
  if (node instanceof DiskNode) throw fsError("EXDEV", "link", shown, dest);
  node.nlink++;
  parent.add(name, node);
}

function copyFile(from, to, mode = 0) {
  const [shown, dest] = [toPath(from, "src"), toPath(to, "dest")];
  validateInteger(mode ?? 0, "mode", 0, 7);
  const { node } = volumes.locate(shown, "copyfile", shown, false, dest);
  if (node.isFolder) throw fsError("EISDIR", "copyfile", shown, dest);
  let target = volumes.find(dest);
  if (target.node === undefined) {
    target = volumes.locateNew(dest, "copyfile", shown, dest);
    target.node = new memory.File(node.facts().mode | 0o200);
    target.parent.add(target.name, target.node);
  } else {
    if (mode & COPYFILE_EXCL) throw fsError("EEXIST", "copyfile", shown, dest);
    if (target.node.isFolder) throw fsError("EISDIR", "copyfile", shown, dest);
    if (target.node instanceof DiskNode) throw fsError("EROFS", "copyfile", shown, dest);
    if (target.node === node) return;
    target.node.truncate(0);
  }
  copyBytes(node, target.node, shown, dest);
}

function copyBytes(from, to, shown, dest) {
  const piece = new Uint8Array(Math.min(from.size, 1 << 20));
  for (let at = 0; at < from.size;) {
    const count = from.read(piece, 0, Math.min(piece.length, from.size - at), at);
    if (typeof count === "string") throw fsError(count, "copyfile", shown, dest);
    if (count === 0) break;
    if (!to.write(piece.subarray(0, count), at)) throw fsError("EFBIG", "copyfile", shown, dest);
    at += count;
  }
}

const CP_DEFAULTS = {
  dereference: false, errorOnExist: false, filter: undefined, force: true, preserveTimestamps: false, recursive: false,
  verbatimSymlinks: false, mode: 0,
};

const CP_REASONS = {
  ERR_FS_EISDIR: "EISDIR", ERR_FS_CP_EINVAL: "EINVAL", ERR_FS_CP_DIR_TO_NON_DIR: "EISDIR", ERR_FS_CP_NON_DIR_TO_DIR: "ENOTDIR",
  ERR_FS_CP_EEXIST: "EEXIST",
};

function cpError(code, message, path) {
  return fsSystemError(code, CP_REASONS[code], "cp", message, path);
}

function cp(from, to, options = undefined) {
  const settings = objectOptions(options, CP_DEFAULTS);
  copyTree(toPath(from, "src"), toPath(to, "dest"), settings);
}

function copyTree(from, to, settings) {
  if (settings.filter && !settings.filter(from, to)) return;
  const { node, path } = volumes.locate(from, "lstat", from, !settings.dereference);
  const target = volumes.find(to);
  if (node.isFolder) {
    if (!settings.recursive) throw cpError("ERR_FS_EISDIR", `Recursive option not enabled, cannot copy a directory: ${from}`, to);
    if (`${target.path}/`.startsWith(`${path}/`)) throw cpError("ERR_FS_CP_EINVAL", `cannot copy ${from} to a subdirectory of self ${to}`, to);
    if (target.node !== undefined && !target.node.isFolder) {
      throw cpError("ERR_FS_CP_DIR_TO_NON_DIR", `cannot overwrite non-directory ${to} with directory ${from}`, to);
    }
    if (target.node === undefined) mkdir(to, { recursive: true });
    for (const [name] of volumes.entriesOf(node, "scandir", from)) copyTree(posix.join(from, name), posix.join(to, name), settings);
    return;
  }
  if (target.node?.isFolder) throw cpError("ERR_FS_CP_NON_DIR_TO_DIR", `cannot overwrite directory ${to} with non-directory ${from}`, to);
  if (target.node !== undefined && !settings.force) {
    if (settings.errorOnExist) throw cpError("ERR_FS_CP_EEXIST", `${to} already exists`, to);
    return;
  }
  if (target.node === undefined) mkdir(posix.dirname(volumes.absolute(to)), { recursive: true });
  if (node instanceof memory.Link) return symlink(settings.verbatimSymlinks ? node.target : posix.resolve(posix.dirname(path), node.target), to);
  copyFile(from, to, settings.mode);
  if (settings.preserveTimestamps) {
    const { atime, mtime } = node.facts();
    Object.assign(volumes.find(to).node, { atime, mtime });
  }
}

/** Numbers of the file system that a path is on. */
function statfs(path, options = undefined) {
  const shown = toPath(path);
  volumes.locate(shown, "statfs", shown);
  const facts = { type: 0x01021994, bsize: 4096, frsize: 4096, blocks: 0, bfree: 0, bavail: 0, files: 0, ffree: 0 };
  const { bigint } = objectOptions(options);
  return bigint ? Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, BigInt(value)])) : facts;
}

module.exports = { copyFile, cp, link, mkdir, mkdtemp, rename, rm, rmdir, statfs, symlink, unlink };
