"use strict";
// process.cpuUsage and resourceUsage: of the worker's CPU nothing is told.

const { ERR_INVALID_ARG_VALUE } = require("internal/errors");
const { validateNumber, validateObject } = require("internal/validators");

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

module.exports = { checkPrevious, resourceUsage };
