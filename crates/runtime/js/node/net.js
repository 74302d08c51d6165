// @ts-check
"use strict";
// Sockets for `node:net`, `node:tls`, `node:dns` and `cloudflare:sockets`: the natives, and the async context of what comes in.
//
// A socket belongs to the worker. What it reads is handled under the limits of the request that used it last, while that
// lasts, and with the values of AsyncLocalStorage of where the socket was made: `capture()` there, and run callbacks by it.

const { NumberIsFinite, ReflectApply } = require("primordials");
const { Frame, OUTSIDE, currentFrame, currentRequest, swapFrame } = require("request_scope");
const timers = require("timers");
const {
  op_dns_lookup, op_net_close, op_net_connect, op_net_pair, op_net_read, op_net_running, op_net_secure,
  op_net_shutdown, op_net_write,
} = require("ops");

/** A function that calls `callback(...args)` in the values of here, for the request that is running then. */
function capture() {
  const here = currentFrame();
  const store = here === undefined ? undefined : here.store;
  return (callback, ...args) => {
    const before = swapFrame(new Frame(op_net_running(), store));
    try {
      return ReflectApply(callback, undefined, args);
    } finally {
      swapFrame(before);
    }
  };
}

/** A socket's timer, which ends with none of the requests: calls `callback` after `delay` ms. */
function startTimer(callback, delay) {
  const before = swapFrame(new Frame(OUTSIDE, undefined));
  try {
    return timers.startTimer(() => { callback(); }, NumberIsFinite(delay) && delay > 0 ? delay : 0);
  } finally {
    swapFrame(before);
  }
}
function cancelTimer(id) { timers.cancelTimer(id); }

function connect(host, port) { return op_net_connect(currentRequest(), host, port); }
function pair() { return op_net_pair(); }
function read(socket) { return op_net_read(currentRequest(), socket); }
function write(socket, bytes) { return op_net_write(currentRequest(), socket, bytes); }
function shutdown(socket) { return op_net_shutdown(currentRequest(), socket); }
function close(socket) { op_net_close(socket); }
function secure(socket, name, flags, authorities, identity, protocols) {
  return op_net_secure(currentRequest(), socket, name, flags, authorities, identity, protocols);
}
function lookup(host) { return op_dns_lookup(currentRequest(), host); }

module.exports = { cancelTimer, capture, close, connect, lookup, pair, read, secure, shutdown, startTimer, write };
