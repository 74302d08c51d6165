"use strict";
// node:https (https://nodejs.org/api/https.html). Servers are those of node:http: TLS is the gateway's, and keys and certificates
// given here have no effect.

const http = require("http");
const agents = require("_http_agent");
const { ClientRequest } = require("_http_client");

function Agent(options) {
  if (!(this instanceof Agent)) return new Agent(options);
  agents.Agent.call(this, options);
  this.defaultPort = 443;
  this.protocol = "https:";
  this.maxCachedSessions = this.options.maxCachedSessions ?? 100;
}
Object.setPrototypeOf(Agent.prototype, agents.Agent.prototype);
Object.setPrototypeOf(Agent, agents.Agent);

/** Over node:tls. */
Agent.prototype.createConnection = function createConnection(...args) {
  return agents.sockets("tls").connect(...args);
};

let globalAgent = new Agent({ keepAlive: true, scheduling: "lifo", timeout: 5000 });

function Server(options, listener) {
  if (!(this instanceof Server)) return new Server(options, listener);
  http.Server.call(this, options, listener);
}
Object.setPrototypeOf(Server.prototype, http.Server.prototype);
Object.setPrototypeOf(Server, http.Server);

/** The certificates are the gateway's. */
Server.prototype.setSecureContext = function setSecureContext() {};
Server.prototype.addContext = function addContext() {};

function createServer(options, listener) {
  return new Server(options, listener);
}

function request(...args) {
  let options = {};
  if (typeof args[0] === "string" || (args[0]?.href && args[0].protocol && args[0].path === undefined)) {
    const url = args.shift();
    if (typeof args[0] !== "function") Object.assign(options, args.shift());
    options._defaultAgent = globalAgent;
    return new ClientRequest(url, options, args[0]);
  }
  if (typeof args[0] !== "function") options = { ...args.shift() };
  options._defaultAgent = globalAgent;
  return new ClientRequest(options, args[0]);
}

function get(...args) {
  const made = request(...args);
  made.end();
  return made;
}

module.exports = {
  Agent, Server, createServer, get, request,
  get globalAgent() { return globalAgent; },
  set globalAgent(agent) { globalAgent = agent; },
};
