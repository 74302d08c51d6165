"use strict";
// Requests over the runtime's own connections, under the app's egress policy: the sink of a ClientRequest and the source
// of its response. Nothing is followed, decoded or added that HTTP does not demand.

const process = require("process");
const { Buffer } = require("buffer");
const { ConnResetException } = require("internal/errors");
const { IncomingMessage, endMessage, kSource } = require("_http_incoming");
const { drained, kHead } = require("_http_outgoing");
const { closeRequest, failRequest, interim, respond, touch } = require("_http_client");

const http = binding("http");

const NONE = 0, BYTES = 1, TEXT = 2, PIPE = 3;

class NetworkSink {
  #request;
  #socket = undefined;
  #fetch = 0;
  #pipe = 0;
  #body = 0;
  #reading = false;
  #over = false;

  constructor(request) {
    this.#request = request;
  }

  socket() {
    if (this.#socket === undefined) {
      const { MessageSocket } = require("internal/http/message_socket");
      const { host, port, protocol } = this.#request;
      this.#socket = new MessageSocket({ remoteAddress: host, remotePort: +port, encrypted: protocol === "https:" }, (error) => {
        this.#request.destroy(error);
      });
      if (protocol === "https:") this.#socket.authorized = true;
    }
    return this.#socket;
  }

  // ---- The sink of the request

  whole(request, body, encoding) {
    let kind = NONE;
    if (typeof body === "string" && body !== "") {
      if (!encoding || /^utf-?8$/i.test(encoding)) kind = TEXT;
      else body = Buffer.from(body, encoding);
    }
    if (kind === NONE && body !== undefined && body.length > 0) kind = BYTES;
    this.#send(request, kind, body);
  }

  start(request) {
    this.#pipe = http.newPipe(request._contentLength ?? -1);
    this.#send(request, PIPE, this.#pipe);
    if (/100-continue/i.test(request.getHeader("expect") ?? "")) process.nextTick(interim, request, 100, "Continue", []);
  }

  write(request, chunk, encoding) {
    if (typeof chunk === "string" && encoding && !/^utf-?8$/i.test(encoding)) chunk = Buffer.from(chunk, encoding);
    touch(request);
    const room = http.writePipe(this.#pipe, chunk);
    // Where the other side is gone the response tells, or the error.
    if (room < 0) return true;
    if (room === 0) http.pipeReady(this.#pipe).then(() => drained(request), () => {});
    return room === 1;
  }

  end() {
    http.closePipe(this.#pipe);
  }

  destroy(_request, error) {
    if (this.#over) return;
    this.#over = true;
    if (this.#pipe !== 0) http.failPipe(this.#pipe, `${error?.message ?? "aborted"}`);
    if (this.#fetch !== 0) http.abortFetch(this.#fetch);
    this.#socket?.close(error);
  }

  #send(request, kind, body) {
    const list = request[kHead];
    const { host, path, port, protocol } = request;
    const name = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
    const hash = path.indexOf("#");
    const url = `${protocol}//${name}:${port}${path.startsWith("/") ? "" : "/"}${hash < 0 ? path : path.slice(0, hash)}`;
    const [id, head] = http.startFetch(request.method, url, list, kind, body);
    this.#fetch = id;
    head.then((answer) => this.#respond(request, answer), (error) => {
      if (!this.#over) failRequest(request, systemError(error, host, port));
    });
  }

  // ---- The source of the response

  #respond(request, [status, statusMessage, headers, , , body]) {
    if (this.#over) return;
    const response = new IncomingMessage();
    response[kSource] = this;
    response.httpVersionMajor = 1;
    response.httpVersionMinor = 1;
    response.httpVersion = "1.1";
    response.statusCode = status;
    response.statusMessage = statusMessage;
    response.rawHeaders = headers;
    response.joinDuplicateHeaders = request.joinDuplicateHeaders ?? false;
    this.#body = body;
    respond(request, response);
  }

  read(message) {
    if (this.#body === 0) {
      this.#end(message);
      return;
    }
    if (this.#reading) return;
    this.#reading = true;
    http.readBody(this.#body).then((chunk) => {
      this.#reading = false;
      if (this.#over) return;
      if (chunk === undefined) {
        this.#body = 0;
        this.#end(message);
      } else if (chunk.byteLength === 0) {
        this.read(message);
      } else {
        message.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
      }
    }, (error) => {
      if (this.#over) return;
      this.#over = true;
      message.destroy(Object.assign(new ConnResetException("aborted"), { cause: error }));
      closeRequest(this.#request);
    });
  }

  #end(message) {
    if (!message.complete) endMessage(message);
    if (this.#over) return;
    this.#over = true;
    this.#socket?.close();
    closeRequest(this.#request);
  }

  cancel() {
    if (this.#over) return;
    this.#over = true;
    if (this.#fetch !== 0) http.abortFetch(this.#fetch);
    this.#body = 0;
    this.#socket?.close();
    closeRequest(this.#request);
  }
}

/** Parts of the runtime's messages, and Node's codes. */
const CODES = [
  [/look-up of .* failed/, "ENOTFOUND", -3008, "getaddrinfo"],
  [/Connection refused/, "ECONNREFUSED", -111, "connect"],
  [/within/, "ETIMEDOUT", -110, "connect"],
  [/timed out/, "ETIMEDOUT", -110, "connect"],
  [/unreachable/, "ENETUNREACH", -101, "connect"],
];

/** The runtime's error as Node has it. */
function systemError(error, host, port) {
  const message = `${error?.message ?? error}`;
  const found = CODES.find(([pattern]) => pattern.test(message));
  if (found !== undefined) {
    const [, code, errno, syscall] = found;
    const at = syscall === "connect" ? `${host}:${port}` : host;
    const made = Object.assign(new Error(`${syscall} ${code} ${at}`), { errno, code, syscall, cause: error });
    if (syscall === "connect") return Object.assign(made, { address: host, port: +port });
    return Object.assign(made, { hostname: host });
  }
  if (/closed the connection|connection was closed/.test(message)) {
    return Object.assign(new ConnResetException("socket hang up"), { cause: error });
  }
  if (/no valid response/.test(message)) return Object.assign(new Error(`Parse Error: ${message}`), { code: "HPE_INVALID_CONSTANT" });
  // The policy's own words say what to do.
  return Object.assign(new Error(message), { code: "EACCES", errno: -13, syscall: "connect", cause: error });
}

module.exports = { NetworkSink };
