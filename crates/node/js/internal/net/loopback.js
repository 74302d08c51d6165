"use strict";
// Connections in memory to the servers of this worker.

const { MemoryHandle } = require("internal/net/handles");
const { isIPv6 } = require("internal/net/address");
const ports = require("internal/net/ports");

/** The client's end of a connection. */
function connect(key, host) {
  const address = isIPv6(host) ? "::1" : "127.0.0.1";
  const port = typeof key === "number" ? key : undefined;
  const [client, server] = MemoryHandle.pair({ address, port: ports.freePort() }, { address, port });
  const accept = ports.listenerAt(key);
  queueMicrotask(() => accept(server));
  return client;
}

module.exports = { ...ports, connect };
