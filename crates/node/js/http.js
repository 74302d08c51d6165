"use strict";
// node:http (https://nodejs.org/api/http.html). Servers: _http_server.js, whose requests come by internal/http/gateway.js; clients:
// _http_client.js.

const common = require("_http_common");
const { IncomingMessage } = require("_http_incoming");
const { OutgoingMessage, validateHeaderName, validateHeaderValue } = require("_http_outgoing");
const { STATUS_CODES, Server, ServerResponse, _connectionListener } = require("_http_server");
const agents = require("_http_agent");
const { ClientRequest } = require("_http_client");
const { validateInteger } = require("internal/validators");
require("internal/http/gateway");

function createServer(options, listener) {
  return new Server(options, listener);
}

function request(url, options, callback) {
  return new ClientRequest(url, options, callback);
}

function get(url, options, callback) {
  const made = request(url, options, callback);
  made.end();
  return made;
}

/** There are no parsers to keep. */
function setMaxIdleHTTPParsers(max) {
  validateInteger(max, "max", 1);
}

const maxHeaderSize = 16384;

module.exports = {
  METHODS: common.methods.toSorted(), STATUS_CODES, Agent: agents.Agent, ClientRequest, IncomingMessage, OutgoingMessage, Server,
  ServerResponse, _connectionListener, createServer, get, maxHeaderSize, request, setMaxIdleHTTPParsers, validateHeaderName,
  validateHeaderValue,
  get globalAgent() { return agents.globalAgent; },
  set globalAgent(value) { agents.globalAgent = value; },
  // The web's, as in Node.
  get CloseEvent() { return globalThis.CloseEvent; },
  get MessageEvent() { return globalThis.MessageEvent; },
  get WebSocket() { return globalThis.WebSocket; },
};
