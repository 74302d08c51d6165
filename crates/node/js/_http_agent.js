"use strict";
// Agent (https://nodejs.org/api/http.html#class-httpagent). Connections are pooled by the runtime, so an Agent is its options;
// one that makes connections of its own (`createConnection`, or an `addRequest` that a package has written) is asked for them.

const EventEmitter = require("events");
const { validateNumber, validateOneOf } = require("internal/validators");

/** node:net or node:tls, when a connection of the app's own is wanted. */
const sockets = (name) => require(name);

function Agent(options) {
  if (!(this instanceof Agent)) return new Agent(options);
  EventEmitter.call(this);
  this.defaultPort = 80;
  this.protocol = "http:";
  this.options = { __proto__: null, ...options };
  if (this.options.noDelay === undefined) this.options.noDelay = true;
  this.options.path = null;
  this.requests = { __proto__: null };
  this.sockets = { __proto__: null };
  this.freeSockets = { __proto__: null };
  this.keepAliveMsecs = this.options.keepAliveMsecs || 1000;
  this.keepAlive = this.options.keepAlive || false;
  this.maxSockets = this.options.maxSockets || Agent.defaultMaxSockets;
  this.maxFreeSockets = this.options.maxFreeSockets || 256;
  this.scheduling = this.options.scheduling || "lifo";
  this.totalSocketCount = 0;
  validateOneOf(this.scheduling, "scheduling", ["fifo", "lifo"]);
  if (this.options.maxTotalSockets !== undefined) validateNumber(this.options.maxTotalSockets, "maxTotalSockets", 1);
  this.maxTotalSockets = this.options.maxTotalSockets ?? Infinity;
}
Object.setPrototypeOf(Agent.prototype, EventEmitter.prototype);
Object.setPrototypeOf(Agent, EventEmitter);
Agent.defaultMaxSockets = Infinity;

/** Over node:net; agents of packages have their own. */
Agent.prototype.createConnection = function createConnection(...args) {
  return sockets("net").createConnection(...args);
};

Agent.prototype.getName = function getName(options = {}) {
  let name = `${options.host || "localhost"}:${options.port || ""}:${options.localAddress || ""}`;
  if (options.family === 4 || options.family === 6) name += `:${options.family}`;
  if (options.socketPath) name += `:${options.socketPath}`;
  return name;
};

/** Sends a request over a connection of the agent's own. */
Agent.prototype.addRequest = function addRequest(request, options, port, localAddress) {
  if (typeof options === "string") options = { __proto__: null, host: options, port, localAddress };
  this.createSocket(request, { __proto__: null, ...options, ...this.options }, (error, socket) => {
    if (error) request.onSocket(socket, error);
    else request.onSocket(socket);
  });
};

Agent.prototype.createSocket = function createSocket(request, options, callback) {
  const once = (error, socket) => {
    const done = callback;
    callback = () => {};
    done(error, socket);
  };
  try {
    const socket = this.createConnection(options, once);
    if (socket) once(null, socket);
  } catch (error) {
    once(error);
  }
};

Agent.prototype.keepSocketAlive = () => false;
Agent.prototype.reuseSocket = () => {};
Agent.prototype.removeSocket = () => {};
Agent.prototype.destroy = function destroy() {};

let globalAgent = new Agent({ keepAlive: true, scheduling: "lifo", timeout: 5000 });

module.exports = {
  Agent, sockets,
  get globalAgent() { return globalAgent; },
  set globalAgent(agent) { globalAgent = agent; },
};
