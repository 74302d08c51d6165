"use strict";
// node:worker_threads (https://nodejs.org/api/worker_threads.html): what a main thread has, and message channels.
//
// Deviations: Worker throws, for an app has one thread in each worker; SHARE_ENV and the like are for Worker alone;
// messages cannot be received synchronously.

const { refuse } = require("internal/unavailable");

const shared = new Map();

const one = "an app has one thread in each of its workers, and the server runs as many workers as it needs. " +
  "Do the work in this one, or behind a request to another app";

module.exports = {
  isMainThread: true,
  isInternalThread: false,
  threadId: 0,
  threadName: "",
  parentPort: null,
  workerData: null,
  resourceLimits: {},
  SHARE_ENV: Symbol.for("nodejs.worker_threads.SHARE_ENV"),
  MessageChannel,
  MessagePort,
  BroadcastChannel: globalThis.BroadcastChannel,
  Worker: refuse("worker_threads.Worker", one),
  receiveMessageOnPort: refuse("worker_threads.receiveMessageOnPort()", "listen for the port's message event"),
  moveMessagePortToContext: refuse("worker_threads.moveMessagePortToContext()", "an app has one context"),
  postMessageToThread: refuse("worker_threads.postMessageToThread()", one),
  getEnvironmentData: (key) => shared.get(key),
  setEnvironmentData(key, value) {
    if (value === undefined) shared.delete(key);
    else shared.set(key, value);
  },
};
