// @ts-check
"use strict";
// What Node's `v8` needs of the runtime.

const { op_v8_deserialize, op_v8_heap, op_v8_serialize } = require("ops");

function serialize(value) { return op_v8_serialize(value); }
function deserialize(bytes, bufferPrototype) { return op_v8_deserialize(bytes, bufferPrototype); }

/** Bytes of the worker's heap, in this order. */
const heapNames = [
  "total_heap_size", "total_heap_size_executable", "total_physical_size", "total_available_size", "used_heap_size",
  "heap_size_limit", "malloced_memory", "peak_malloced_memory", "total_global_handles_size", "used_global_handles_size",
  "external_memory",
];
function heap() { return op_v8_heap(); }

module.exports = { deserialize, heap, heapNames, serialize };
