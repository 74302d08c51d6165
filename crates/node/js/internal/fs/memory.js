"use strict";
// The files below /tmp: a tree in the worker's memory, which counts against the app's memory limit as any of its buffers
// do. It lasts as long as the worker, like the state of its modules, and no other worker sees it.

const { S_IFDIR, S_IFLNK, S_IFREG } = require("internal/fs/constants");

/** Files, folders and links; what is in them is bounded by the memory limit. */
const MAX_NODES = 65536;
const MAX_FILE = 2 ** 31 - 1;
const UMASK = 0o22;
const DEVICE = 2;
/** Inodes that the disk does not have. */
const FIRST_INODE = 2 ** 40;

let nodes = 0;
let lastInode = FIRST_INODE;

class Node {
  constructor(type, mode) {
    this.mode = type | (mode & 0o7777);
    this.ino = ++lastInode;
    this.nlink = 1;
    this.atime = this.mtime = this.ctime = this.birthtime = Date.now();
    nodes++;
  }

  get isFolder() { return this instanceof Folder; }

  facts() {
    const { mode, ino, nlink, atime, mtime, ctime, birthtime, size } = this;
    return { dev: DEVICE, mode, nlink, ino, size, atime, mtime, ctime, birthtime };
  }

  /** The last name of it is gone. */
  release() {
    if (--this.nlink === 0) nodes--;
    this.ctime = Date.now();
  }

  setMode(mode) {
    this.mode = (this.mode & ~0o7777) | (mode & 0o7777);
    this.ctime = Date.now();
  }
}

class Folder extends Node {
  entries = new Map();
  constructor(mode) { super(S_IFDIR, mode); }
  get size() { return 4096; }

  touch() { this.mtime = this.ctime = Date.now(); }
  add(name, node) { this.entries.set(name, node); this.touch(); }
  remove(name) {
    this.entries.get(name).release();
    this.entries.delete(name);
    this.touch();
  }
}

class Link extends Node {
  constructor(target) {
    super(S_IFLNK, 0o777);
    this.target = target;
  }
  get size() { return this.target.length; }
}

class File extends Node {
  #bytes = new Uint8Array(0);
  size = 0;
  constructor(mode) { super(S_IFREG, mode); }

  read(into, offset, length, position) {
    const count = Math.max(Math.min(length, this.size - position), 0);
    if (count > 0) asBytes(into).set(this.#bytes.subarray(position, position + count), offset);
    return count;
  }

  /** False where the file would be too large. */
  write(from, position) {
    const end = position + from.length;
    if (!this.#reserve(end)) return false;
    this.#bytes.set(from, position);
    this.size = Math.max(this.size, end);
    this.mtime = this.ctime = Date.now();
    return true;
  }

  truncate(size) {
    if (!this.#reserve(size)) return false;
    if (size < this.size) {
      if (size < this.#bytes.length / 2) this.#bytes = this.#bytes.slice(0, size);
      else this.#bytes.fill(0, size, this.size);
    }
    this.size = size;
    this.mtime = this.ctime = Date.now();
    return true;
  }

  #reserve(size) {
    if (size > MAX_FILE) return false;
    if (size > this.#bytes.length) {
      const wider = new Uint8Array(Math.min(Math.max(size, this.#bytes.length * 1.5), MAX_FILE));
      wider.set(this.#bytes.subarray(0, this.size));
      this.#bytes = wider;
    }
    return true;
  }
}

function asBytes(view) {
  return view instanceof Uint8Array ? view : new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

const hasRoom = () => nodes < MAX_NODES;
const root = new Folder(0o777);

module.exports = { File, Folder, Link, MAX_FILE, UMASK, asBytes, hasRoom, root };
