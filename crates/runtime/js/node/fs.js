// @ts-check
"use strict";
// What node:fs needs of the runtime: the app's folder, for reading. The ops see to it that nothing outside of it, and no
// environment file, is read. No descriptor is kept: each call opens its file.

const { Number } = require("primordials");
const { op_fs_list, op_fs_read, op_fs_real, op_fs_stat } = require("ops");

// Each gives a number below zero where there is nothing to read: -1 missing, -2 outside, -3 hidden, -4 of another kind,
// -5 unreadable.
const stat = (path, keepLink) => op_fs_stat(`${path}`, keepLink === true);
const list = (path) => op_fs_list(`${path}`);
const realpath = (path) => op_fs_real(`${path}`);

/** How many bytes were read: fewer than asked for at the end of the file, or where a call has read enough. */
function read(path, bytes, offset, length, position) {
  return op_fs_read(`${path}`, bytes, Number(offset), Number(length), Number(position));
}

module.exports = { list, read, realpath, stat };
