"use strict";
// The servers of this worker that listen, by their ports. Ports are the worker's own: nothing is opened on the machine. The first
// server that listens has the requests that come to the app, whatever its port; each has those of clients in the worker, which
// ask for localhost and the port. Connections of node:net to it are read as HTTP.

const process = require("process");
const { validatePort } = require("internal/validators");
const { ExceptionWithHostPort, codes } = require("internal/errors");
const ports = require("internal/net/ports");

const http = binding("http");
const { ERR_INVALID_ARG_VALUE, ERR_SERVER_ALREADY_LISTEN } = codes;

const EADDRINUSE = -98;
const LOCAL_HOSTS = new Set(["localhost", "127.0.0.1", "::1", "[::1]", "0.0.0.0", "::", "[::]"]);

/** Port or path to server. */
const listening = new Map();
/** The server of the app. */
let first;
/** It was the app's, and was closed. */
let hadFirst = false;
let warned = false;
/** By request, until there is a server or the request has ended. @type {Map<number, (server: any) => void>} */
const waiting = new Map();

/** [port or path, host] of the arguments of `listen`. */
function target(args) {
  const [one, two] = args;
  if (typeof one === "object" && one !== null) {
    if (typeof one.path === "string") return [one.path, undefined];
    if (one.port !== undefined || one.fd === undefined) return [one.port ?? 0, one.host];
    return [0, undefined];
  }
  if (typeof one === "string" && !/^\d+$/.test(one.trim())) return [one, undefined];
  return [typeof one === "function" || one === undefined || one === null ? 0 : one, typeof two === "string" ? two : undefined];
}

/** Registers a server; its address. */
function listen(server, args) {
  if (server._address !== null) throw new ERR_SERVER_ALREADY_LISTEN();
  const [place, host] = target(args);
  if (typeof place === "boolean") throw new ERR_INVALID_ARG_VALUE("options", args[0]);
  const isPath = typeof place === "string" && !/^\d+$/.test(place.trim());
  const port = isPath ? place : validatePort(place, "options.port") || ports.freePort();
  if (!ports.listen(port, (handle) => accept(server, handle))) {
    const error = new ExceptionWithHostPort(EADDRINUSE, "listen", host ?? "::", port);
    process.nextTick(() => server.emit("error", error));
    return null;
  }
  listening.set(port, server);
  if (!isPath) http.openPort(port);
  become(server);
  if (isPath) return port;
  const address = host === undefined || host === "localhost" ? "::" : host;
  return { address, family: address.includes(":") ? "IPv6" : "IPv4", port };
}

/** A connection of node:net. */
function accept(server, handle) {
  const { Socket } = require("net");
  server.emit("connection", new Socket({ handle, allowHalfOpen: true }));
}

/** The first server that listens is the app's. */
function become(server) {
  if (first === undefined) {
    first = server;
    const resolvers = [...waiting.values()];
    waiting.clear();
    for (const resolve of resolvers) resolve(server);
  } else if (!warned && http.currentRequest() === 0) {
    warned = true;
    http.warn("This app has more than one server that listens: the first has its requests");
  }
}

function close(server) {
  for (const [port, other] of listening) {
    if (other !== server) continue;
    listening.delete(port);
    ports.unlisten(port);
    if (typeof port === "number") http.closePort(port);
  }
  if (first === server) {
    first = undefined;
    hadFirst = true;
  }
}

/** The app's server; undefined while it does not listen. */
function appServer() {
  return first;
}

/** A promise of the app's server for a request. */
function whenListening(id) {
  if (hadFirst) return Promise.reject(new Error("The app's server was closed"));
  return new Promise((resolve) => waiting.set(id, resolve));
}

/** The request has ended, and waits for no server. */
function giveUp(id) {
  waiting.delete(id);
}

/** The server of this worker that a client means; undefined: none. */
function localServer(host, port) {
  return listening.size > 0 && LOCAL_HOSTS.has(host) ? listening.get(+port) : undefined;
}

/** The same by the path of a Unix socket. */
function serverAt(path) {
  return listening.get(path);
}

module.exports = { appServer, close, giveUp, listen, localServer, serverAt, whenListening };
