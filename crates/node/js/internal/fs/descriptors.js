"use strict";
// Open files by number. 0, 1 and 2 are the process's own streams: what is written to them goes to the log.

const constants = require("internal/fs/constants");
const { fsError } = require("internal/fs/errors");
const { DiskNode, find, locateNew } = require("internal/fs/volumes");
const memory = require("internal/fs/memory");

const O_ACCMODE = 3;
const { O_APPEND, O_CREAT, O_DIRECTORY, O_EXCL, O_RDONLY, O_TRUNC, O_WRONLY } = constants;
const FIRST = 3;
const MAX_OPEN = 1024;

const table = new Map();

class OpenFile {
  position = 0;
  constructor(node, flags, path) {
    this.node = node;
    this.flags = flags;
    this.path = path;
  }

  get canRead() { return (this.flags & O_ACCMODE) !== O_WRONLY; }
  get canWrite() { return (this.flags & O_ACCMODE) !== O_RDONLY; }

  read(into, offset, length, position, shown = undefined) {
    if (!this.canRead) throw fsError("EBADF", "read", shown);
    if (this.node.isFolder) throw fsError("EISDIR", "read", shown);
    const at = position ?? this.position;
    const count = this.node.read(into, offset, length, at);
    if (typeof count === "string") throw fsError(count, "read", shown);
    if (position === undefined) this.position = at + count;
    return count;
  }

  write(bytes, position, shown = undefined) {
    if (!this.canWrite) throw fsError("EBADF", "write", shown);
    const at = this.flags & O_APPEND ? this.node.size : position ?? this.position;
    if (!this.node.write(bytes, at)) throw fsError("EFBIG", "write", shown);
    if (position === undefined) this.position = at + bytes.length;
    return bytes.length;
  }
}

/** What the process's own streams are. */
class Standard {
  constructor(number) { this.number = number; }
  position = 0;
  canRead = true;
  canWrite = true;
  node = {
    isFolder: false,
    size: 0,
    facts: () => ({ dev: 0, mode: constants.S_IFCHR | 0o666, nlink: 1, ino: 0, size: 0, atime: 0, mtime: 0, ctime: 0, birthtime: 0 }),
  };

  read() { return 0; }
  write(bytes) {
    if (this.number === 0) throw fsError("EBADF", "write");
    require("process")[this.number === 1 ? "stdout" : "stderr"].write(bytes);
    return bytes.length;
  }
}

function openNode(path, flags, mode, shown) {
  const isWriting = (flags & O_ACCMODE) !== O_RDONLY;
  const found = find(path);
  if (found.node === undefined) {
    if (!(flags & O_CREAT)) throw fsError(found.code, "open", shown);
    const { parent, name } = locateNew(path, "open", shown);
    const made = new memory.File(mode & ~memory.UMASK);
    parent.add(name, made);
    return made;
  }
  const { node } = found;
  if (flags & O_CREAT && flags & O_EXCL) throw fsError("EEXIST", "open", shown);
  if (flags & O_DIRECTORY && !node.isFolder) throw fsError("ENOTDIR", "open", shown);
  if (node.isFolder && (isWriting || flags & O_CREAT)) throw fsError("EISDIR", "open", shown);
  if (node instanceof DiskNode && (isWriting || flags & O_TRUNC)) throw fsError("EROFS", "open", shown);
  if (flags & O_TRUNC) node.truncate(0);
  return node;
}

/** An open file without a number. */
function openFile(path, flags, mode, shown) {
  return new OpenFile(openNode(path, flags, mode, shown), flags, path);
}

function open(path, flags, mode, shown) {
  if (table.size >= MAX_OPEN) throw fsError("EMFILE", "open", shown);
  const file = openFile(path, flags, mode, shown);
  let fd = FIRST;
  while (table.has(fd)) fd++;
  table.set(fd, file);
  return fd;
}

function fileOf(fd, syscall) {
  const file = fd < FIRST ? new Standard(fd) : table.get(fd);
  if (file === undefined) throw fsError("EBADF", syscall);
  return file;
}

function close(fd) {
  fileOf(fd, "close");
  table.delete(fd);
}

module.exports = { close, fileOf, open, openFile };
