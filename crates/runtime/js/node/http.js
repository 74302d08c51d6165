// @ts-check
"use strict";
// What node:http needs of the runtime: the requests that come to the app and their answers, outgoing requests, and the
// ports on which servers of this worker listen, for fetch(). The modules of `crates/node` set what is called here.

const {
  ArrayIsArray, MathFloor, NumberIsInteger, PromisePrototypeThen, PromiseResolve, RangeError, RegExpPrototypeExec, SafeSet,
  TypeError,
} = require("primordials");
const { currentRequest } = require("request_scope");
const { dropPending, pendingRequest } = require("events/pending");
const {
  op_body_cancel, op_body_length, op_body_read, op_console, op_fetch_abort, op_fetch_head, op_fetch_start, op_pipe_close, op_pipe_fail,
  op_pipe_new, op_pipe_ready, op_pipe_write, op_request_body, op_request_fail, op_request_headers, op_request_method, op_request_url,
  op_respond,
} = require("ops");

const sockets = lazy("websocket/socket");
const responses = lazy("fetch/response");
const routers = lazy("routes/router");

const HEADERS_LIST = 3;
const BODY_NONE = 0, BODY_NATIVE = 3;

// ---- Requests to the app

/** @type {((id: number) => void) | undefined} Takes the requests to an app that exports no handler. */
let onRequest;
/** @type {((id: number) => void) | undefined} Called when a request's client is gone, or its time is up. */
let onAbort;

/** From now on an entry that exports no handler is expected to start a server. */
function setServer(request, abort) {
  if (typeof request !== "function" || typeof abort !== "function") throw new TypeError("functions are wanted");
  onRequest = request;
  onAbort = abort;
}

function isServer() {
  return onRequest !== undefined;
}

/** @type {((request: any) => any) | undefined} A fetch handler that the entry has set without exporting it: Bun.serve. */
let handler;

function setHandler(f) {
  if (typeof f !== "function") throw new TypeError("a function is wanted");
  handler = f;
}

/** A function that calls the handler that is set then; undefined while there is none. */
function fetchHandler() {
  return handler === undefined ? undefined : callHandler;
}

function callHandler(request) {
  if (handler === undefined) throw new TypeError("no handler");
  return handler(request);
}

/** A handler of `routes`, as those of a default export. */
function routerOf(routes, fallback) {
  return routers.use().createRouter(undefined, routes, typeof fallback === "function" ? fallback : undefined);
}

function serveRequest(id) {
  if (onRequest === undefined) throw new TypeError("no server");
  onRequest(id);
}

function abortServed(id) {
  if (onAbort !== undefined) onAbort(id);
}

/** [method, url, headers, body id or 0] */
function readHead(id) {
  return [op_request_method(id), op_request_url(id), op_request_headers(id), op_request_body(id)];
}

/** `kind` is that of a body: 0 none, 1 bytes, 2 text, 3 a pipe. */
function respond(id, status, statusText, headers, kind, body) {
  if (!NumberIsInteger(status) || status < 200 || status > 999) throw new RangeError(`Invalid status code: ${status}`);
  if (!ArrayIsArray(headers)) throw new TypeError("headers are a list");
  op_respond(id, status, statusText, HEADERS_LIST, headers, kind, body);
  if (kind !== BODY_NATIVE) dropPending(id);
}

/** Answers with a WebSocket, an end of a pair. */
function respondSocket(id, headers, socket) {
  if (!ArrayIsArray(headers) || !sockets.use().isWebSocket(socket)) throw new TypeError("headers and a WebSocket are wanted");
  sockets.use().checkUnused(socket, "The request cannot be upgraded");
  op_respond(id, 101, "", HEADERS_LIST, headers, BODY_NONE, undefined, sockets.use().takeSocket(socket));
}

function failRequest(id, message) {
  dropPending(id);
  op_request_fail(id, `${message}`);
}

// ---- Bodies

/** A pipe of the current request; `length` is how much will be written in all, -1 where that is unknown. */
function newPipe(length) {
  return op_pipe_new(currentRequest(), length >= 0 ? MathFloor(length) : -1);
}

/** The same of the request that is answered, which must not be over. */
function newAnswerPipe(id, length) {
  if (pendingRequest(id) === undefined) throw new TypeError("the request is over");
  return op_pipe_new(id, length >= 0 ? MathFloor(length) : -1);
}

// ---- Outgoing requests

/** [the request's id for abortFetch, a promise of the head]; nothing is added to what is given, and nothing is decoded. */
function startFetch(method, url, headers, kind, body) {
  const id = op_fetch_start(currentRequest(), method, url, headers, kind, body, "exact");
  return [id, op_fetch_head(id)];
}

// ---- Servers of this worker

const ports = new SafeSet();
/** @type {((request: any) => any) | undefined} A Request to a Response. */
let fetchLocal;

function setFetchLocal(f) {
  if (typeof f !== "function") throw new TypeError("a function is wanted");
  fetchLocal = f;
}

function openPort(port) {
  ports.add(port);
}

function closePort(port) {
  ports.delete(port);
}

const LOCAL = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1?\]|0\.0\.0\.0):(\d+)\//;

/** Whether a server of this worker has that address. */
function isLocal(url) {
  if (ports.size === 0 || fetchLocal === undefined) return false;
  const found = RegExpPrototypeExec(LOCAL, url);
  return found !== null && ports.has(+found[1]);
}

/** The promise of its answer. */
function fetchFromLocal(request) {
  if (fetchLocal === undefined) throw new TypeError("no server");
  return PromisePrototypeThen(PromiseResolve(fetchLocal(request)), (response) => {
    if (!responses.use().isResponse(response)) throw new TypeError("fetch failed");
    return response;
  });
}

function warn(message) {
  op_console(0, "warn", `${message}`);
}

module.exports = {
  setServer, setHandler, fetchHandler, routerOf, isServer, serveRequest, abortServed, readHead, respond, respondSocket, failRequest, newPipe, newAnswerPipe, startFetch,
  abortFetch: op_fetch_abort, readBody: op_body_read, cancelBody: op_body_cancel, bodyLength: op_body_length,
  writePipe: op_pipe_write, pipeReady: op_pipe_ready, closePipe: op_pipe_close, failPipe: op_pipe_fail, setFetchLocal, openPort,
  closePort, isLocal, fetchFromLocal, warn, currentRequest,
};
