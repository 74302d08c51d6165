"use strict";
// The ports that servers of this worker listen on. They are no real ports: a connection to one is made in memory, and nothing
// outside of the worker can reach it.

const { MemoryHandle } = require("internal/net/handles");
const { isIPv6 } = require("internal/net/address");

const FIRST_EPHEMERAL = 49152;
const LAST_PORT = 65535;

/** Port, or path of a socket in the file system, to the function that gets the server's end of each connection. */
const listeners = new Map();
let nextEphemeral = FIRST_EPHEMERAL;

/** The next port that no listener has. */
function freePort() {
  for (let tries = FIRST_EPHEMERAL; tries <= LAST_PORT; tries++) {
    const port = nextEphemeral;
    nextEphemeral = port === LAST_PORT ? FIRST_EPHEMERAL : port + 1;
    if (!listeners.has(port)) return port;
  }
  return undefined;
}

/** Listens; false where another server does. `accept` gets a handle. */
function listen(key, accept) {
  if (listeners.has(key)) return false;
  listeners.set(key, accept);
  return true;
}

function unlisten(key) { listeners.delete(key); }
function hasListener(key) { return listeners.has(key); }

/** The client's end of a connection. */
function connect(key, host) {
  const address = isIPv6(host) ? "::1" : "127.0.0.1";
  const port = typeof key === "number" ? key : undefined;
  const [client, server] = MemoryHandle.pair({ address, port: freePort() }, { address, port });
  const accept = listeners.get(key);
  queueMicrotask(() => accept(server));
  return client;
}

module.exports = { connect, freePort, hasListener, listen, unlisten };
