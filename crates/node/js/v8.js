"use strict";
// node:v8 (https://nodejs.org/api/v8.html): serialize and deserialize in V8's format, which Node reads and writes too, and the
// numbers of the worker's heap. What is about the process as a whole (snapshots, flags, profiles) is not for apps.
//
// Deviations: Serializer, Deserializer and their Default variants throw; the spaces of the heap are not told apart.

const { deserialize: read, heap, heapNames, serialize: write } = binding("v8");
const { ERR_FEATURE_UNAVAILABLE_ON_PLATFORM, ERR_INVALID_ARG_TYPE, ERR_NOT_BUILDING_SNAPSHOT } = require("internal/errors");
const { validateString } = require("internal/validators");

function serialize(value) {
  const { Buffer } = require("buffer");
  return Buffer.from(write(value));
}

function deserialize(buffer) {
  if (!ArrayBuffer.isView(buffer)) throw new ERR_INVALID_ARG_TYPE("buffer", ["Buffer", "TypedArray", "DataView"], buffer);
  return read(buffer, require("buffer").Buffer.prototype);
}

function getHeapStatistics() {
  const values = heap();
  const statistics = {};
  for (const [i, name] of heapNames.entries()) statistics[name] = values[i];
  return {
    ...statistics, does_zap_garbage: 0, number_of_native_contexts: 1, number_of_detached_contexts: 0,
    total_allocated_bytes: statistics.total_heap_size,
  };
}

function getHeapCodeStatistics() {
  return {
    code_and_metadata_size: 0, bytecode_and_metadata_size: 0, external_script_source_size: 0, cpu_profiler_metadata_size: 0,
  };
}

function getHeapSpaceStatistics() {
  const { total_available_size, total_heap_size, total_physical_size, used_heap_size } = getHeapStatistics();
  return [{
    space_name: "all_spaces", space_size: total_heap_size, space_used_size: used_heap_size,
    space_available_size: total_available_size, physical_space_size: total_physical_size,
  }];
}

/** Flags are the operator's: V8 has one set of them for all apps. */
function setFlagsFromString(flags) {
  validateString(flags, "flags");
}

function unavailable(name, instead) {
  return {
    [name]() {
      const error = new ERR_FEATURE_UNAVAILABLE_ON_PLATFORM(`v8.${name}`);
      error.message = `v8.${name} is not available in Hearth: ${instead}`;
      throw error;
    },
  }[name];
}

/** As in a Node that runs an app: snapshots are made when Hearth is built. */
function notBuilding() {
  throw new ERR_NOT_BUILDING_SNAPSHOT();
}

/** Of cached code, which apps cannot make: any number but 0. */
const CACHE_VERSION = 1;
const ONE_FOR_ALL = "it would read the memory of the server's process; use getHeapStatistics()";
const NO_CLASSES = "use serialize() and deserialize()";

/** Whether a text has one byte for each character. */
function isStringOneByteRepresentation(content) {
  validateString(content, "content");
  return /^[\0-\xff]*$/.test(content);
}

module.exports = {
  DefaultDeserializer: unavailable("DefaultDeserializer", NO_CLASSES),
  DefaultSerializer: unavailable("DefaultSerializer", NO_CLASSES),
  Deserializer: unavailable("Deserializer", NO_CLASSES), Serializer: unavailable("Serializer", NO_CLASSES),
  GCProfiler: unavailable("GCProfiler", ONE_FOR_ALL),
  cachedDataVersionTag: () => CACHE_VERSION, deserialize, getHeapCodeStatistics,
  getHeapSnapshot: unavailable("getHeapSnapshot", ONE_FOR_ALL), getHeapSpaceStatistics, getHeapStatistics,
  isStringOneByteRepresentation, queryObjects: unavailable("queryObjects", ONE_FOR_ALL), serialize, setFlagsFromString,
  setHeapSnapshotNearHeapLimit() {}, startCpuProfile: unavailable("startCpuProfile", ONE_FOR_ALL),
  startupSnapshot: {
    addAfterUserSerializeCallback: notBuilding, addDeserializeCallback: notBuilding, addSerializeCallback: notBuilding,
    isBuildingSnapshot: () => false, setDeserializeMainFunction: notBuilding,
  },
  stopCoverage() {}, takeCoverage() {},
  writeHeapSnapshot: unavailable("writeHeapSnapshot", ONE_FOR_ALL),
};
