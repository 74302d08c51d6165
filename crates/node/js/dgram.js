"use strict";
// node:dgram (https://nodejs.org/api/dgram.html): importable; what is used of it throws.

const { unavailable } = require("internal/unavailable");

module.exports = unavailable("dgram", ["Socket", "createSocket"],
  "apps have no datagrams. Use fetch, a WebSocket, or node:net for streams over TCP");
