"use strict";
// node:net (https://nodejs.org/api/net.html): TCP sockets under the app's egress policy, and servers for clients within the worker.
//
// Deviations: a server listens on no real port: connections of the same worker to that port of 127.0.0.1, ::1 or localhost, and to its path,
// are made in memory, and nothing else can reach it. A name is looked up by the connection itself, which checks each address
// against the policy, so "lookup" comes with the connection. A socket belongs to the worker, not to the request that opened
// it; the worker closes it after the app's stream timeout without traffic. Sockets are never delayed (setNoDelay) and keep-alive
// is the system's; `localAddress` and `fd` are not supported; ref and unref do nothing.

const { Socket, kAdopt } = require("internal/net/socket");
const { isIP, isIPv4, isIPv6 } = require("internal/net/address");
const { Server } = require("internal/net/server");
const { validateBoolean, validateInt32 } = require("internal/validators");

let autoSelectFamily = true;
let attemptTimeout = 250;

/** [options, callback] of the forms (port, host), (path) and (options). */
function normalizeArgs(args) {
  let options = {};
  const first = args[0];
  if (typeof first === "object" && first !== null) options = first;
  else if (isPath(first)) options.path = first;
  else {
    if (args.length > 0) options.port = first;
    if (args.length > 1 && typeof args[1] !== "function") options.host = args[1];
  }
  const callback = args.length > 1 && typeof args[args.length - 1] === "function" ? args[args.length - 1] : null;
  const normalized = [options, callback];
  return normalized;
}

function isPath(value) {
  return typeof value === "string" && !(Number(value) >= 0 && value.trim() !== "");
}

function connect(...args) {
  const [options, callback] = normalizeArgs(args);
  const socket = new Socket(options);
  if (options.timeout) socket.setTimeout(options.timeout);
  return callback === null ? socket.connect(options) : socket.connect(options, callback);
}

function createServer(options, listener) {
  return new Server(options, listener);
}

Socket.prototype.connect = function connect(...args) {
  const [options, callback] = normalizeArgs(Array.isArray(args[0]) ? args[0] : args);
  return this[kAdopt](options, callback);
};

module.exports = {
  _normalizeArgs: normalizeArgs,
  get BlockList() { return require("internal/net/block_list").BlockList; },
  Server,
  Socket,
  get SocketAddress() { return require("internal/net/block_list").SocketAddress; },
  Stream: Socket,
  connect,
  createConnection: connect,
  createServer,
  getDefaultAutoSelectFamily: () => autoSelectFamily,
  getDefaultAutoSelectFamilyAttemptTimeout: () => attemptTimeout,
  isIP,
  isIPv4,
  isIPv6,
  setDefaultAutoSelectFamily(value) {
    validateBoolean(value, "value");
    autoSelectFamily = value;
  },
  setDefaultAutoSelectFamilyAttemptTimeout(value) {
    validateInt32(value, "value", 1);
    attemptTimeout = Math.max(10, value);
  },
};
