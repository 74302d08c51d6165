"use strict";
// The ports, and paths of sockets, that servers of this worker listen on: of node:net and of node:http. Nothing is opened on
// the machine: a connection to one is made in memory (internal/net/loopback), and nothing outside of the worker can reach it.

const FIRST_EPHEMERAL = 49152;
const LAST_PORT = 65535;

/** Port or path to the function that gets the server's end of each connection. @type {Map<number | string, (handle: any) => void>} */
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

/** Listens; false where another server does. */
function listen(key, accept) {
  if (listeners.has(key)) return false;
  listeners.set(key, accept);
  return true;
}

function unlisten(key) { listeners.delete(key); }
function hasListener(key) { return listeners.has(key); }
function listenerAt(key) { return listeners.get(key); }

module.exports = { freePort, hasListener, listen, listenerAt, unlisten };
