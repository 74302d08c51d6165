"use strict";
// Requests to a server of this worker, in memory: the sink of a ClientRequest, whose other end is a request of the server.

const process = require("process");
const { Buffer } = require("buffer");
const { ConnResetException } = require("internal/errors");
const { IncomingMessage, kSource } = require("_http_incoming");
const { attach, drained, emitClose, kHead } = require("_http_outgoing");
const { closeRequest, failRequest, interim, respond, touch } = require("_http_client");
const { serve } = require("_http_server");
const { Feed } = require("internal/http/feed");
const { MessageSocket } = require("internal/http/message_socket");

function toBytes(chunk, encoding) {
  return typeof chunk === "string" ? Buffer.from(chunk, encoding || "utf8") : Buffer.from(chunk);
}

/** A message that is fed in memory. */
function fedMessage(Message, headers, feed) {
  const message = new Message();
  message[kSource] = feed;
  message.httpVersionMajor = 1;
  message.httpVersionMinor = 1;
  message.httpVersion = "1.1";
  message.rawHeaders = headers;
  return message;
}

class LocalSink {
  #client;
  #server;
  /** Of the request's body. */
  #upload;
  #request = undefined;
  #response = undefined;
  #near;
  #far;
  #over = false;

  constructor(client, server) {
    this.#client = client;
    this.#server = server;
    const port = +client.port;
    this.#near = new MessageSocket({ remoteAddress: "127.0.0.1", remotePort: port, localPort: 49152 }, (error) => client.destroy(error));
    this.#far = new MessageSocket({ remoteAddress: "127.0.0.1", remotePort: 49152, localPort: port }, () => this.#hangUp());
    this.#far.server = server;
  }

  socket() {
    return this.#near;
  }

  whole(client, body, encoding) {
    this.start(client);
    if (body !== undefined && body.length > 0) this.write(client, body, encoding);
    this.end();
  }

  start(client) {
    const headers = client[kHead].concat(client._addedHeaders());
    this.#upload = new Feed(() => this.#far, () => drained(client), () => {});
    if (client.hasHeader("upgrade") && this.#server.listenerCount("upgrade") > 0) {
      const { upgradeLocal } = require("internal/http/local_upgrade");
      upgradeLocal(client, this.#server, this.#makeRequest(headers));
      return;
    }
    process.nextTick(() => {
      if (!this.#over) this.#serve(headers);
    });
  }

  #makeRequest(headers) {
    const { IncomingMessage: Message } = this.#server;
    const request = fedMessage(Message, headers, this.#upload);
    request.method = this.#client.method;
    request.url = this.#client.path;
    request.joinDuplicateHeaders = this.#server.joinDuplicateHeaders;
    return (this.#request = request);
  }

  #serve(headers) {
    const request = this.#makeRequest(headers);
    const response = new this.#server.ServerResponse(request, this.#server);
    this.#response = response;
    attach(response, new AnswerSink(this.#client, request, this.#far, this.#near, () => this.#finish()));
    serve(this.#server, request, response);
  }

  write(client, chunk, encoding) {
    touch(client);
    return this.#upload.write(toBytes(chunk, encoding));
  }

  end() {
    this.#upload.end();
  }

  #finish() {
    this.#over = true;
  }

  /** The client gives up. */
  destroy() {
    this.#near.close();
    if (this.#over) return;
    this.#over = true;
    const [request, response] = [this.#request, this.#response];
    if (request !== undefined && !request.readableEnded) request.destroy(new ConnResetException("aborted"));
    if (response !== undefined) {
      response.destroyed = true;
      process.nextTick(emitClose, response);
    }
    this.#far.close();
  }

  /** The server has destroyed the connection. */
  #hangUp() {
    if (this.#over) return;
    this.#over = true;
    failRequest(this.#client, new ConnResetException("socket hang up"));
  }
}

/** The other direction: the sink of the server's response. */
class AnswerSink {
  #client;
  #request;
  #far;
  #near;
  #onEnd;
  #feed = undefined;

  constructor(client, request, far, near, onEnd) {
    this.#client = client;
    this.#request = request;
    this.#far = far;
    this.#near = near;
    this.#onEnd = onEnd;
  }

  socket() {
    return this.#far;
  }

  whole(response, body, encoding) {
    this.start(response);
    if (body !== undefined && body.length > 0 && response._hasBody) this.#feed.write(toBytes(body, encoding));
    this.end();
  }

  start(response) {
    const client = this.#client;
    this.#feed = new Feed(() => this.#near, () => drained(response), () => {
      // The client wants no more of it.
      response.destroyed = true;
      process.nextTick(emitClose, response);
      closeRequest(client);
    });
    const message = fedMessage(IncomingMessage, response[kHead].concat(response._addedHeaders()), this.#feed);
    message.statusCode = response.statusCode;
    message.statusMessage = response.statusMessage;
    message.joinDuplicateHeaders = client.joinDuplicateHeaders ?? false;
    message.once("end", () => closeRequest(client));
    process.nextTick(() => {
      if (!client.destroyed) respond(client, message);
    });
  }

  write(_response, chunk, encoding) {
    touch(this.#client);
    return this.#feed.write(toBytes(chunk, encoding));
  }

  end() {
    this.#feed.end();
  }

  interim(status, headers) {
    const { STATUS_CODES } = require("http");
    process.nextTick(interim, this.#client, status, STATUS_CODES[status], headers);
  }

  answered(response) {
    this.#onEnd();
    if (!this.#request.complete && !this.#request._consumed) this.#request._dump();
    process.nextTick(() => {
      response.destroyed = true;
      emitClose(response);
      this.#far.close();
    });
  }

  destroy(response) {
    this.#onEnd();
    const { res } = this.#client;
    if (this.#feed === undefined) failRequest(this.#client, new ConnResetException("socket hang up"));
    else if (res !== null) res.destroy(new ConnResetException("aborted"));
    process.nextTick(emitClose, response);
    this.#far.close();
  }
}

module.exports = { LocalSink };
