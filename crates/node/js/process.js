"use strict";
// node:process (https://nodejs.org/api/process.html).

const { makeEnv } = binding("process");

const process = {
  env: makeEnv(),
  argv: ["hearth", "/"],
  execArgv: [],
  title: "hearth",
  platform: "linux",
  version: "",
  versions: {},
  cwd: () => "/",
  nextTick(callback, ...values) { queueMicrotask(() => callback(...values)); },
  on() { return process; },
  once() { return process; },
  off() { return process; },
  addListener() { return process; },
  removeListener() { return process; },
  emitWarning() {},
};

module.exports = process;
