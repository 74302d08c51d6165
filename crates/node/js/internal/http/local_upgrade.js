"use strict";
// Upgrades between a client and a server of this worker: both get an end of a connection in memory.

const process = require("process");
const { Buffer } = require("buffer");
const { kSocket } = require("_http_incoming");
const { ResponseReader } = require("internal/http/connection");
const { duplexPair } = require("internal/http/duplex_pair");

/** The server answers on its end, as it would on a socket. */
function upgradeLocal(client, server, request) {
  const [near, far] = duplexPair();
  near.remotePort = far.localPort = +client.port;
  far.server = server;
  request[kSocket] = far;
  request.upgrade = true;
  new ResponseReader(client, near);
  client.once("close", () => {
    if (!client.upgradeOrConnect) near.destroy();
  });
  process.nextTick(() => server.emit("upgrade", request, far, Buffer.alloc(0)));
}

module.exports = { upgradeLocal };
