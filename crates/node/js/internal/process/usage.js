"use strict";
// What process keeps and checks, for functions that few apps call: umask, variables of the environment, and cpuUsage and
// resourceUsage, which tell nothing of the worker's CPU.

const { ERR_INVALID_ARG_VALUE, ERR_INVALID_OBJECT_DEFINE_PROPERTY } = require("internal/errors");
const { parseFileMode, validateNumber, validateObject } = require("internal/validators");

function checkPrevious(before) {
  validateObject(before, "prevValue");
  for (const name of ["user", "system"]) {
    validateNumber(before[name], `prevValue.${name}`);
    if (!(before[name] >= 0 && before[name] <= Number.MAX_SAFE_INTEGER)) {
      const error = new ERR_INVALID_ARG_VALUE.RangeError(`prevValue.${name}`, before[name]);
      throw error;
    }
  }
}

function resourceUsage({ heapTotal, external }) {
  return {
    userCPUTime: 0, systemCPUTime: 0, maxRSS: Math.ceil((heapTotal + external) / 1024), sharedMemorySize: 0,
    unsharedDataSize: 0, unsharedStackSize: 0, minorPageFault: 0, majorPageFault: 0, swappedOut: 0, fsRead: 0, fsWrite: 0,
    ipcSent: 0, ipcReceived: 0, signalsCount: 0, voluntaryContextSwitches: 0, involuntaryContextSwitches: 0,
  };
}

/** Of files in memory, which have no owners: a number that the app gets back. */
let fileMask = 0o022;

function umask(mask = undefined) {
  const before = fileMask;
  if (mask !== undefined) fileMask = parseFileMode(mask, "mask") & 0o777;
  return before;
}

/** What Object.defineProperty may do to process.env. */
function checkVariable(description) {
  if ("get" in description || "set" in description) {
    throw new ERR_INVALID_OBJECT_DEFINE_PROPERTY("'process.env' does not accept an accessor(getter/setter) descriptor");
  }
  if (!description.configurable || !description.writable || !description.enumerable) {
    throw new ERR_INVALID_OBJECT_DEFINE_PROPERTY(
      "'process.env' only accepts a configurable, writable, and enumerable data descriptor");
  }
}

module.exports = { checkPrevious, checkVariable, resourceUsage, umask };
