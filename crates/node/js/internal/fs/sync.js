"use strict";
// The functions of node:fs that return at once, without "Sync" in their names. The others are made of these (callbacks.js,
// promises.js): the disk is read in pieces of at most 1 MiB, mostly from the kernel's cache.

const { codes } = require("internal/errors");
const { validateBoolean, validateBuffer, validateInteger } = require("internal/validators");
const { encoded, objectOptions, toData, toDescriptor, toFlags, toMode, toOptions, toPath, toTime } = require("internal/fs/arguments");
const constants = require("internal/fs/constants");
const descriptors = require("internal/fs/descriptors");
const { fsError } = require("internal/fs/errors");
const memory = require("internal/fs/memory");
const { Dirent, makeStats } = require("internal/fs/stats");
const volumes = require("internal/fs/volumes");
const { posix } = require("path");

const { F_OK, W_OK, X_OK } = constants;
const READ_FILE_PIECE = 1 << 20;
const { DiskNode } = volumes;

const buffers = () => require("buffer").Buffer;

function access(path, mode = F_OK) {
  const shown = toPath(path);
  validateInteger(mode, "mode", 0, 7);
  const { node } = volumes.locate(shown, "access", shown);
  if (!(node instanceof DiskNode)) return;
  if (mode & W_OK) throw fsError("EROFS", "access", shown);
  if (mode & X_OK && !node.isFolder) throw fsError("EACCES", "access", shown);
}

function exists(path) {
  try {
    access(path, F_OK);
    return true;
  } catch {
    return false;
  }
}

/** stat and lstat. */
function statAt(syscall, keepLink) {
  return (path, options = undefined) => {
    const shown = toPath(path);
    const { bigint = false, throwIfNoEntry = true } = objectOptions(options);
    const { node, code } = volumes.find(shown, keepLink);
    if (node !== undefined) return makeStats(node.facts(), bigint);
    if (!throwIfNoEntry && (code === "ENOENT" || code === "ENOTDIR")) return undefined;
    throw fsError(code, syscall, shown);
  };
}

function fstat(fd, options = undefined) {
  return makeStats(descriptors.fileOf(toDescriptor(fd), "fstat").node.facts(), objectOptions(options).bigint);
}

function open(path, flags = "r", mode = 0o666) {
  const shown = toPath(path);
  return descriptors.open(shown, toFlags(flags), toMode(mode, 0o666), shown);
}

const close = (fd) => descriptors.close(toDescriptor(fd));

/** Position: null, undefined and -1 are the file's own. */
function toPosition(position) {
  if (position === undefined || position === null || position === -1 || position === -1n) return undefined;
  if (typeof position !== "number" && typeof position !== "bigint") {
    throw new codes.ERR_INVALID_ARG_TYPE("position", ["integer", "bigint"], position);
  }
  if (typeof position === "number") validateInteger(position, "position", -1);
  else if (position < -1n || position > 2n ** 63n - 1n) throw new codes.ERR_OUT_OF_RANGE("position", `>= -1 && <= ${2n ** 63n - 1n}`, position);
  return Number(position);
}

/** read(fd, buffer, offset, length, position), or with options instead of the last three. */
function read(fd, buffer, offsetOrOptions = undefined, length = undefined, position = undefined) {
  const file = descriptors.fileOf(toDescriptor(fd), "read");
  validateBuffer(buffer);
  let offset = offsetOrOptions;
  if (typeof offset === "object" && offset !== null) ({ offset = 0, length = buffer.byteLength - offset, position = null } = offset);
  offset ??= 0;
  validateInteger(offset, "offset", 0);
  length ??= buffer.byteLength - offset;
  if (length === 0) return 0;
  if (buffer.byteLength === 0) throw new codes.ERR_INVALID_ARG_VALUE("buffer", buffer, "is empty and cannot be written");
  validateRange(buffer, offset, length);
  return file.read(buffer, offset, length, toPosition(position));
}

function validateRange(buffer, offset, length) {
  if (offset > buffer.byteLength) throw new codes.ERR_OUT_OF_RANGE("offset", `<= ${buffer.byteLength}`, offset);
  validateInteger(length, "length", 0);
  if (length > buffer.byteLength - offset) throw new codes.ERR_OUT_OF_RANGE("length", `<= ${buffer.byteLength - offset}`, length);
}

/** write(fd, buffer, offset, length, position), write(fd, text, position, encoding), or with options. */
function write(fd, data, offsetOrOptions = undefined, length = undefined, position = undefined) {
  const file = descriptors.fileOf(toDescriptor(fd), "write");
  if (!ArrayBuffer.isView(data)) {
    if (typeof data !== "string") throw new codes.ERR_INVALID_ARG_TYPE("buffer", ["string", "Buffer", "TypedArray", "DataView"], data);
    return file.write(toData(data, length), toPosition(offsetOrOptions));
  }
  let offset = offsetOrOptions;
  if (typeof offset === "object" && offset !== null) ({ offset = 0, length = data.byteLength - offset, position = null } = offset);
  offset ??= 0;
  validateInteger(offset, "offset", 0);
  length ??= data.byteLength - offset;
  validateRange(data, offset, length);
  return file.write(toData(data).subarray(offset, offset + length), typeof position === "number" ? position : undefined);
}

function readv(fd, views, position = undefined) {
  let total = 0;
  for (const view of views) {
    const count = view.byteLength === 0 ? 0 : read(fd, view, 0, view.byteLength, typeof position === "number" ? position + total : null);
    total += count;
    if (count < view.byteLength) break;
  }
  return total;
}

function writev(fd, views, position = undefined) {
  let total = 0;
  for (const view of views) total += write(fd, view, 0, view.byteLength, typeof position === "number" ? position + total : null);
  return total;
}

/** The open file that a path or a descriptor means. */
function fileAt(path, flags, mode) {
  if (typeof path === "number") return descriptors.fileOf(toDescriptor(path), "read");
  const shown = toPath(path);
  return descriptors.openFile(shown, flags, mode, shown);
}

function readFile(path, options = undefined) {
  const { encoding, flag } = toOptions(options, { flag: "r" });
  const file = fileAt(path, toFlags(flag), 0o666);
  if (file.node.isFolder) throw fsError("EISDIR", "read");
  const size = Math.max(file.node.size - file.position, 0);
  if (size > memory.MAX_FILE) throw new codes.ERR_FS_FILE_TOO_LARGE(size);
  const bytes = buffers().allocUnsafeSlow(size);
  let length = 0;
  while (length < size) {
    const count = file.read(bytes, length, Math.min(size - length, READ_FILE_PIECE), undefined);
    if (count === 0) break;
    length += count;
  }
  const all = length === size ? bytes : bytes.subarray(0, length);
  return encoding && encoding !== "buffer" ? all.toString(encoding) : all;
}

function writeFile(path, data, options = undefined) {
  const { encoding, mode, flag, flush } = toOptions(options, { encoding: "utf8", mode: 0o666, flag: "w", flush: false });
  validateBoolean(flush, "options.flush");
  const bytes = toData(data, encoding);
  fileAt(path, toFlags(flag), toMode(mode, 0o666)).write(bytes, undefined);
}

const appendFile = (path, data, options = undefined) => writeFile(path, data, toOptions(options, { encoding: "utf8", mode: 0o666, flag: "a" }));

function truncate(path, length = 0) {
  if (typeof path === "number") return ftruncate(path, length);
  const shown = toPath(path);
  validateInteger(length ?? 0, "len");
  const { node } = volumes.locate(shown, "open", shown);
  if (node.isFolder) throw fsError("EISDIR", "open", shown);
  if (node instanceof DiskNode) throw fsError("EROFS", "open", shown);
  if (!node.truncate(Math.max(length ?? 0, 0))) throw fsError("EFBIG", "ftruncate", shown);
}

function ftruncate(fd, length = 0) {
  const file = descriptors.fileOf(toDescriptor(fd), "ftruncate");
  validateInteger(length ?? 0, "len");
  if (!file.canWrite || !(file.node instanceof memory.File)) throw fsError("EINVAL", "ftruncate");
  if (!file.node.truncate(Math.max(length ?? 0, 0))) throw fsError("EFBIG", "ftruncate");
}

function readdir(path, options = undefined) {
  const { encoding, withFileTypes = false, recursive = false } = toOptions(options);
  if (options?.recursive !== undefined && options.recursive !== null) validateBoolean(recursive, "options.recursive");
  const shown = toPath(path);
  const found = [];
  const walk = (folder, prefix) => {
    const { node } = volumes.locate(folder, "scandir", shown);
    for (const [name, mode] of volumes.entriesOf(node, "scandir", shown)) {
      const parent = prefix === "" ? shown : posix.join(shown, prefix);
      found.push(withFileTypes ? new Dirent(encoded(name, encoding), parent, mode) : encoded(posix.join(prefix, name), encoding));
      if (recursive && (mode & constants.S_IFMT) === constants.S_IFDIR) walk(posix.join(folder, name), posix.join(prefix, name));
    }
  };
  walk(volumes.absolute(shown), "");
  return found;
}

function realpath(path, options = undefined) {
  const shown = toPath(path);
  return encoded(volumes.realPath(shown, "lstat", shown), toOptions(options).encoding);
}

function readlink(path, options = undefined) {
  const shown = toPath(path);
  const { node } = volumes.locate(shown, "readlink", shown, true);
  const target = node instanceof memory.Link ? node.target : node.isLink ? volumes.realPath(shown, "readlink", shown) : undefined;
  if (target === undefined) throw fsError("EINVAL", "readlink", shown);
  return encoded(target, toOptions(options).encoding);
}

function utimesAt(keepLink, syscall) {
  return (path, atime, mtime) => {
    const shown = toPath(path);
    setTimes(volumes.locate(shown, syscall, shown, keepLink).node, atime, mtime, syscall, shown);
  };
}

function setTimes(node, atime, mtime, syscall, shown) {
  const [accessed, modified] = [toTime(atime, "atime"), toTime(mtime, "mtime")];
  if (node instanceof DiskNode) throw fsError("EROFS", syscall, shown);
  node.atime = accessed;
  node.mtime = modified;
  node.ctime = Date.now();
}

const futimes = (fd, atime, mtime) => setTimes(descriptors.fileOf(toDescriptor(fd), "futime").node, atime, mtime, "futime");

/** chmod, chown and the like: what they set has no effect, since there is one user. */
function change(syscall, keepLink, apply) {
  return (path, ...values) => {
    const shown = toPath(path);
    const checked = apply.check(values);
    const { node } = volumes.locate(shown, syscall, shown, keepLink);
    if (node instanceof DiskNode) throw fsError("EROFS", syscall, shown);
    apply.set(node, checked);
  };
}

const setMode = { check: ([mode]) => toMode(mode, undefined), set: (node, mode) => node.setMode(mode) };
const setOwner = {
  check: ([uid, gid]) => {
    validateInteger(uid, "uid", -1, 4294967295);
    validateInteger(gid, "gid", -1, 4294967295);
  },
  set() {},
};

function fchmod(fd, mode) {
  const { node } = descriptors.fileOf(toDescriptor(fd), "fchmod");
  if (!(node instanceof memory.File)) throw fsError("EROFS", "fchmod");
  node.setMode(toMode(mode, undefined));
}

function fchown(fd, uid, gid) {
  descriptors.fileOf(toDescriptor(fd), "fchown");
  setOwner.check([uid, gid]);
}

function fsync(fd) {
  descriptors.fileOf(toDescriptor(fd), "fsync");
}

module.exports = {
  access, appendFile, chmod: change("chmod", false, setMode), chown: change("chown", false, setOwner), close, exists, fchmod, fchown,
  fdatasync: fsync, fstat, fsync, ftruncate, futimes, lchmod: change("lchmod", true, setMode),
  lchown: change("lchown", true, setOwner), lstat: statAt("lstat", true), lutimes: utimesAt(true, "lutime"), open, read, readFile,
  readdir, readlink, readv, realpath, stat: statAt("stat", false), truncate, utimes: utimesAt(false, "utime"), write, writeFile,
  writev,
};
