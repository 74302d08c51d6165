"use strict";
// In place of readable-stream's file: the sizes of buffers, as newer versions of Node have them (64 KiB).

const { ERR_INVALID_ARG_VALUE } = require("internal/errors");
const { validateInteger } = require("internal/validators");

let bytes = 64 * 1024;
let objects = 16;

function getDefaultHighWaterMark(isObjectMode) {
  return isObjectMode ? objects : bytes;
}

function setDefaultHighWaterMark(isObjectMode, value) {
  validateInteger(value, "value", 0);
  if (isObjectMode) objects = value;
  else bytes = value;
}

/** `key` is the option of one side of a duplex stream. */
function getHighWaterMark(state, options, key, isDuplex) {
  const given = options.highWaterMark ?? (isDuplex ? options[key] : null);
  if (given === null || given === undefined) return getDefaultHighWaterMark(state.objectMode);
  if (!Number.isInteger(given) || given < 0) {
    throw new ERR_INVALID_ARG_VALUE(isDuplex ? `options.${key}` : "options.highWaterMark", given);
  }
  return Math.floor(given);
}

module.exports = { getDefaultHighWaterMark, getHighWaterMark, setDefaultHighWaterMark };
