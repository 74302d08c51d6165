"use strict";
// Node's side of the global console: `Console`, `_stdout`, `_stderr` and `_times` on it. Its methods stay those of the runtime,
// which write to the app's log, until the app puts a `write` of its own on process.stdout or process.stderr, says that they are
// a terminal, or gives the console other streams: from then on they write to these streams, as Node's do.
//
// Deviation: a method of the console that the app has taken before then goes on writing to the log.

const { console, consoleMethods } = binding("process");
const { Console } = require("console");

/** The console that writes to streams. */
let streams;

/** Gives the global console the methods that write to streams, but for those that the app has replaced. */
function useStreams() {
  if (streams !== undefined) return streams;
  const process = require("process");
  streams = new Console({ stdout: process.stdout, stderr: process.stderr });
  for (const key of Object.keys(Console.prototype)) {
    if (console[key] === consoleMethods[key]) console[key] = streams[key];
  }
  return streams;
}

function get(name) {
  if (name === "Console") return Console;
  if (streams === undefined && name !== "_times") return require("process")[name.slice(1)];
  return useStreams()[name];
}

function set(name, value) {
  if (name !== "Console") useStreams()[name] = value;
  else Object.defineProperty(console, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
}

module.exports = { get, set, useStreams };
