// @ts-check
"use strict";
// What Node's `buffer` needs of the runtime: text to bytes and back, and work on many bytes at once. The natives take any
// views and ranges; strings are made sure of here.

const {
  op_buffer_compare, op_buffer_copy, op_buffer_fill, op_buffer_from_string, op_buffer_index_of, op_buffer_is_ascii,
  op_buffer_is_utf8, op_buffer_swap, op_buffer_to_string, op_buffer_utf8_length, op_buffer_write,
} = require("ops");

/** Their places are their numbers. */
const encodings = ["utf8", "utf16le", "latin1", "ascii", "base64", "base64url", "hex"];

function toText(bytes, encoding, start, end) { return op_buffer_to_string(bytes, encoding, start, end); }
function fromText(text, encoding) { return op_buffer_from_string(`${text}`, encoding); }
function utf8Length(text) { return op_buffer_utf8_length(`${text}`); }
function compare(left, right) { return op_buffer_compare(left, right); }
function indexOf(bytes, wanted, from, backwards, wide) { return op_buffer_index_of(bytes, wanted, from, backwards, wide); }
function fill(into, pattern, start, end) { op_buffer_fill(into, pattern, start, end); }
function swap(bytes, unit) { op_buffer_swap(bytes, unit); }
function isUtf8(bytes) { return op_buffer_is_utf8(bytes); }
function isAscii(bytes) { return op_buffer_is_ascii(bytes); }
function write(into, text, encoding, offset, length) {
  return op_buffer_write(into, `${text}`, encoding, offset, length);
}
function copy(from, into, intoStart, fromStart, length) {
  op_buffer_copy(from, into, intoStart, fromStart, length);
}

module.exports = {
  compare, copy, encodings, fill, fromText, indexOf, isAscii, isUtf8, swap, toText, utf8Length, write,
};
