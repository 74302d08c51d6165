"use strict";
// Requests that come to the app by Hearth's gateway, for the app's first server: each is an IncomingMessage over a native
// body, and a ServerResponse over the native answer.

const process = require("process");
const { Buffer } = require("buffer");
const { ConnResetException } = require("internal/errors");
const { endMessage, kSocket, kSource } = require("_http_incoming");
const { attach, drained, emitClose, kHead } = require("_http_outgoing");
const { serve } = require("_http_server");
const STATUS_CODES = require("internal/http/status_codes");
const servers = require("internal/http/servers");

const http = binding("http");

/** Kinds of bodies, as the binding has them. */
const NONE = 0, BYTES = 1, TEXT = 2, PIPE = 3;
/** How long a request waits for an app that starts its server later than its modules end. */
const START_LIMIT = 10_000;

/** By request: those whose client may still go away. */
const exchanges = new Map();

class Exchange {
  id;
  request;
  response = undefined;
  body;
  url;
  headers;
  cancelled = false;
  reading = false;
  pipe = 0;
  over = false;

  constructor(id, head) {
    this.id = id;
    this.url = head[1];
    this.headers = head[2];
    this.body = head[3];
  }

  // ---- The source of the request

  read(message) {
    if (this.body === 0 || this.cancelled) {
      endMessage(message);
      return;
    }
    if (this.reading) return;
    this.reading = true;
    http.readBody(this.body).then((chunk) => {
      this.reading = false;
      if (chunk === undefined || this.cancelled) {
        this.body = 0;
        endMessage(message);
      } else if (chunk.byteLength === 0) {
        this.read(message);
      } else {
        message.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
      }
    }, (error) => {
      this.body = 0;
      message.destroy(new ConnResetException(`aborted: ${error?.message}`));
    });
  }

  cancel() {
    if (this.cancelled) return;
    this.cancelled = true;
    if (this.body !== 0 && !this.reading) http.cancelBody(this.body);
  }

  socket() {
    const { MessageSocket } = require("internal/http/message_socket");
    const remoteAddress = this.header("x-forwarded-for")?.split(",")[0].trim();
    const encrypted = this.url.startsWith("https:");
    const about = { remoteAddress, encrypted, localPort: encrypted ? 443 : 80 };
    const socket = new MessageSocket(about, (error) => this.destroy(this.response, error));
    socket.server = servers.appServer();
    // Only once: what the request is asked for, the response is too.
    this.request[kSocket] = socket;
    this.socket = () => socket;
    return socket;
  }

  header(name) {
    for (let i = 0; i < this.headers.length; i += 2) if (this.headers[i] === name) return this.headers[i + 1];
    return undefined;
  }

  // ---- The sink of the response

  whole(response, body, encoding) {
    let kind = NONE;
    if (typeof body === "string") {
      if (encoding === undefined || encoding === null || /^utf-?8$/i.test(encoding)) kind = TEXT;
      else body = Buffer.from(body, encoding);
    }
    if (kind === NONE && body !== undefined) kind = BYTES;
    this.finish();
    http.respond(this.id, response.statusCode, phrase(response), response[kHead], kind, body);
  }

  start(response) {
    const length = response._hasBody ? response._contentLength ?? -1 : 0;
    this.pipe = http.newAnswerPipe(this.id, length);
    http.respond(this.id, response.statusCode, phrase(response), response[kHead], PIPE, this.pipe);
  }

  write(response, chunk, encoding) {
    if (typeof chunk === "string" && encoding && !/^utf-?8$/i.test(encoding)) chunk = Buffer.from(chunk, encoding);
    const room = http.writePipe(this.pipe, chunk);
    if (room === 1) return true;
    if (room < 0) {
      this.gone();
    } else {
      http.pipeReady(this.pipe).then((open) => {
        if (open) drained(response);
        else this.gone();
      }, () => this.gone());
    }
    return false;
  }

  end() {
    this.finish();
    http.closePipe(this.pipe);
  }

  /** Nothing more is sent. */
  finish() {
    this.over = true;
    exchanges.delete(this.id);
  }

  /** Interim responses are the gateway's. */
  interim() {}

  destroy(response, error = undefined) {
    if (this.over) return;
    this.finish();
    const message = error === undefined ? "the connection was destroyed" : `${error?.message ?? error}`;
    if (this.pipe !== 0) http.failPipe(this.pipe, message);
    else http.failRequest(this.id, message);
    process.nextTick(emitClose, response);
    this.closeSocket();
  }

  /** The response is complete: what is left of the request is not wanted. */
  answered(response) {
    const { request } = this;
    if (!request.complete && !request._consumed) request._dump();
    process.nextTick(() => {
      response.destroyed = true;
      emitClose(response);
      this.closeSocket();
    });
  }

  closeSocket(error = undefined) {
    this.request[kSocket]?.close(error);
  }

  /** The client went away, or time is up. */
  gone() {
    if (this.over) return;
    this.finish();
    this.cancelled = true;
    const { request, response } = this;
    if (!request.complete || !request.readableEnded) request.destroy(new ConnResetException("aborted"));
    if (response !== undefined && !response.destroyed) {
      response.destroyed = true;
      process.nextTick(emitClose, response);
    }
    this.closeSocket();
  }
}

/** The usual phrase is left to the gateway. */
function phrase(response) {
  return response.statusMessage === STATUS_CODES[response.statusCode] ? "" : response.statusMessage;
}

/** "/path?query" of an absolute URL. */
function pathOf(url) {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  return start < 0 ? "/" : url.slice(start);
}

function onRequest(id) {
  const server = servers.appServer();
  if (server !== undefined) {
    begin(id, server);
    return;
  }
  const limit = setTimeout(() => {
    servers.giveUp(id);
    http.failRequest(id, NO_SERVER);
  }, START_LIMIT);
  servers.whenListening(id).then((later) => {
    clearTimeout(limit);
    begin(id, later);
  }).catch((error) => http.failRequest(id, `${error?.stack ?? error}`));
}

const NO_SERVER = "the entry exports no handler, and no server of node:http listened within 10 s: " +
  "export a fetch handler (`export default { fetch(request) {} }`), or call server.listen()";

function begin(id, server) {
  const head = http.readHead(id);
  const exchange = new Exchange(id, head);
  const request = new server.IncomingMessage();
  exchange.request = request;
  request[kSource] = exchange;
  request.method = head[0];
  request.url = pathOf(head[1]);
  request.httpVersionMajor = 1;
  request.httpVersionMinor = 1;
  request.httpVersion = "1.1";
  request.rawHeaders = head[2];
  request.joinDuplicateHeaders = server.joinDuplicateHeaders;
  // The gateway has undone it, and body parsers ask for it.
  if (exchange.body !== 0 && exchange.header("content-length") === undefined) head[2].push("transfer-encoding", "chunked");
  exchanges.set(id, exchange);
  if (exchange.header("upgrade") !== undefined && server.listenerCount("upgrade") > 0) {
    const { upgrade } = require("internal/http/upgrade");
    upgrade(exchange, server);
    return;
  }
  const response = new server.ServerResponse(request, server);
  exchange.response = response;
  attach(response, exchange);
  serve(server, request, response);
}

function onAbort(id) {
  servers.giveUp(id);
  exchanges.get(id)?.gone();
}

http.setServer(onRequest, onAbort);
http.setFetchLocal((request) => require("internal/http/local_fetch").fetchLocal(request));

module.exports = {};
