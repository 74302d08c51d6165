"use strict";
// fs.Stats, the same with BigInts, and fs.Dirent: https://nodejs.org/api/fs.html#class-fsstats.

const constants = require("internal/fs/constants");

const { S_IFBLK, S_IFCHR, S_IFDIR, S_IFIFO, S_IFLNK, S_IFMT, S_IFREG, S_IFSOCK } = constants;
const BLOCK = 4096, SECTOR = 512;
const TIMES = ["atime", "mtime", "ctime", "birthtime"];

function StatsBase(dev, mode, nlink, uid, gid, rdev, blksize, ino, size, blocks) {
  Object.assign(this, { dev, mode, nlink, uid, gid, rdev, blksize, ino, size, blocks });
}

const KINDS = {
  isDirectory: S_IFDIR, isFile: S_IFREG, isBlockDevice: S_IFBLK, isCharacterDevice: S_IFCHR, isSymbolicLink: S_IFLNK,
  isFIFO: S_IFIFO, isSocket: S_IFSOCK,
};
for (const [name, kind] of Object.entries(KINDS)) {
  StatsBase.prototype[name] = { [name]() { return (Number(this.mode) & S_IFMT) === kind; } }[name];
}

/** Dates, made when they are first asked for. */
function defineDates(prototype) {
  for (const name of TIMES) {
    Object.defineProperty(prototype, name, {
      __proto__: null,
      enumerable: true,
      configurable: true,
      get() { return this[name] = new Date(Number(this[`${name}Ms`])); },
      set(value) { Object.defineProperty(this, name, { __proto__: null, value, enumerable: true, writable: true, configurable: true }); },
    });
  }
}

function Stats(dev, mode, nlink, uid, gid, rdev, blksize, ino, size, blocks, atimeMs, mtimeMs, ctimeMs, birthtimeMs) {
  StatsBase.call(this, dev, mode, nlink, uid, gid, rdev, blksize, ino, size, blocks);
  Object.assign(this, { atimeMs, mtimeMs, ctimeMs, birthtimeMs });
}
Object.setPrototypeOf(Stats.prototype, StatsBase.prototype);
defineDates(Stats.prototype);

function BigIntStats(stats) {
  const big = (value) => BigInt(Math.trunc(value));
  const { dev, mode, nlink, uid, gid, rdev, blksize, ino, size, blocks } = stats;
  StatsBase.call(this, ...[dev, mode, nlink, uid, gid, rdev, blksize, ino, size, blocks].map(big));
  for (const name of TIMES) this[`${name}Ms`] = big(stats[`${name}Ms`]);
  for (const name of TIMES) this[`${name}Ns`] = big(stats[`${name}Ms`] * 1e6);
}
Object.setPrototypeOf(BigIntStats.prototype, StatsBase.prototype);
defineDates(BigIntStats.prototype);

/** `facts`: { dev, mode, nlink, ino, size, atime, mtime, ctime, birthtime } in milliseconds. */
function makeStats(facts, isBig) {
  const { dev, mode, nlink, ino, size, atime, mtime, ctime, birthtime } = facts;
  const stats = new Stats(dev, mode, nlink, 0, 0, 0, BLOCK, ino, size, Math.ceil(size / SECTOR), atime, mtime, ctime, birthtime);
  return isBig ? new BigIntStats(stats) : stats;
}

const kMode = Symbol("mode");

class Dirent {
  constructor(name, parentPath, mode) {
    this.name = name;
    this.parentPath = parentPath;
    Object.defineProperty(this, kMode, { __proto__: null, value: mode });
  }
}
for (const [name, kind] of Object.entries(KINDS)) {
  Dirent.prototype[name] = { [name]() { return (this[kMode] & S_IFMT) === kind; } }[name];
}

module.exports = { Dirent, Stats, makeStats };
