"use strict";
// node:http2 (https://nodejs.org/api/http2.html), as far as servers need it: `createServer` and `createSecureServer` make servers
// of node:http, whose requests come by the gateway, which speaks HTTP/2 with clients by itself. Only the compatibility API
// ("request" events) is there: no "stream" events, sessions or pushes. There is no client: fetch() and node:https are.

const { Server } = require("_http_server");
const constants = require("internal/http/http2_constants");

/** Requests are IncomingMessages: packages ask whether one is of HTTP/2, to treat it otherwise. */
class Http2ServerRequest {}
class Http2ServerResponse {}

function unavailable(name, instead) {
  const error = new Error(`node:http2: ${name} is not available in Hearth: ${instead}`);
  return Object.assign(error, { code: "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM" });
}

function createServer(options, listener) {
  return new Server(options, listener);
}

function connect() {
  throw unavailable("connect", "use fetch() or node:https");
}

function performServerHandshake() {
  throw unavailable("performServerHandshake", "the gateway accepts connections");
}

function getDefaultSettings() {
  return {
    headerTableSize: 4096, enablePush: false, initialWindowSize: 65535, maxFrameSize: 16384, maxConcurrentStreams: 4294967295,
    maxHeaderListSize: 65535, maxHeaderSize: 65535, enableConnectProtocol: false,
  };
}

function getPackedSettings() {
  throw unavailable("getPackedSettings", "settings are the gateway's");
}

function getUnpackedSettings() {
  throw unavailable("getUnpackedSettings", "settings are the gateway's");
}

module.exports = {
  Http2ServerRequest, Http2ServerResponse, connect, constants, createSecureServer: createServer,
  createServer, getDefaultSettings, getPackedSettings, getUnpackedSettings, performServerHandshake,
  sensitiveHeaders: Symbol("nodejs.http2.sensitiveHeaders"),
};
