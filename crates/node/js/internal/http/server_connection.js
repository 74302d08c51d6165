"use strict";
// Requests over a connection that the app has made by itself, for a server: `server.emit("connection", socket)`, and sockets of
// node:net within the worker. One request at a time: the next is read when the response before it is complete.

const process = require("process");
const { Buffer } = require("buffer");
const { ConnResetException } = require("internal/errors");
const { kSource } = require("_http_incoming");
const { attach, emitClose } = require("_http_outgoing");
const { Feed } = require("internal/http/feed");
const { Parser, parseError } = require("internal/http/parser");
const { SocketSink } = require("internal/http/socket_sink");

const REQUEST_LINE = /^([\^_`a-zA-Z\-0-9!#$%&'*+.|~]+) ([\x21-\x7e\x80-\xff]+) HTTP\/(1)\.([01])$/;

class ServerConnection {
  #server;
  #socket;
  #serve;
  #parser;
  #feed = undefined;
  #request = undefined;
  #response = undefined;
  #over = false;

  /** `serve(server, request, response)` gives a request to the server's listeners. */
  constructor(server, socket, serve) {
    this.#server = server;
    this.#socket = socket;
    this.#serve = serve;
    this.#parser = new Parser({
      onHead: (line, headers) => this.#head(line, headers),
      onBody: (bytes) => this.#body(bytes),
      onEnd: (trailers) => this.#end(trailers),
    });
    server.connections++;
    socket.server ??= server;
    socket.on("data", this.#onData);
    socket.on("end", () => this.#ended());
    socket.on("close", () => this.#closed());
    socket.on("error", (error) => {
      if (!this.#over && server.listenerCount("clientError") > 0) server.emit("clientError", error, socket);
    });
  }

  #onData = (bytes) => {
    if (this.#over) return;
    // The body of this request is complete, and its response is not.
    if (this.#response !== undefined && this.#feed === undefined) this.#socket.pause();
    this.#parse(() => this.#parser.execute(bytes), bytes);
  };

  #parse(run, bytes) {
    try {
      const rest = run();
      if (rest !== undefined) this.#upgrade(rest);
    } catch (error) {
      this.#fail(Object.assign(error, { rawPacket: bytes }));
    }
  }

  #head(line, headers) {
    const found = REQUEST_LINE.exec(line);
    if (found === null) throw parseError("HPE_INVALID_METHOD", "Invalid method encountered");
    const server = this.#server;
    const request = new server.IncomingMessage();
    this.#feed = new Feed(() => this.#socket, () => this.#socket.resume(), () => {});
    request[kSource] = this.#feed;
    request.method = found[1];
    request.url = found[2];
    request.httpVersionMajor = 1;
    request.httpVersionMinor = +found[4];
    request.httpVersion = `1.${found[4]}`;
    request.rawHeaders = headers;
    request.joinDuplicateHeaders = server.joinDuplicateHeaders;
    this.#request = request;
    if (found[4] === "1" && request.headers.host === undefined) throw parseError("HPE_INVALID_HEADER_TOKEN", "Missing Host header");
    const event = request.method === "CONNECT" ? "connect" : "upgrade";
    const asks = event === "connect" || (request.headers.upgrade !== undefined && /upgrade/i.test(request.headers.connection ?? ""));
    if (asks && server.listenerCount(event) > 0) {
      request.upgrade = true;
      return { upgrade: true };
    }
    const response = new server.ServerResponse(request, server);
    const connection = request.headers.connection ?? "";
    response.shouldKeepAlive = request.httpVersionMinor === 1 ? !/close/i.test(connection) : /keep-alive/i.test(connection);
    this.#response = response;
    attach(response, new SocketSink(this.#socket, () => this.#answered()));
    process.nextTick(() => {
      if (!this.#over) this.#serve(server, request, response);
    });
    return {};
  }

  #body(bytes) {
    if (!this.#feed.write(Buffer.from(bytes))) this.#socket.pause();
  }

  #end(trailers) {
    this.#request.rawTrailers = trailers;
    this.#feed.end();
    this.#feed = undefined;
    if (this.#response !== undefined) this.#parser.pause();
  }

  #answered() {
    const response = this.#response;
    const closes = !response.shouldKeepAlive || /\r\nconnection: *close\r\n/i.test(response._header) || this.#feed !== undefined;
    if (!this.#request._consumed) this.#request._dump();
    process.nextTick(() => {
      response.destroyed = true;
      emitClose(response);
    });
    this.#response = undefined;
    if (closes || !this.#server.listening) {
      this.#socket.end();
      return;
    }
    this.#parse(() => this.#parser.resume(), undefined);
    this.#socket.resume();
  }

  #upgrade(rest) {
    this.#over = true;
    const { method } = this.#request;
    this.#socket.removeListener("data", this.#onData);
    this.#server.emit(method === "CONNECT" ? "connect" : "upgrade", this.#request, this.#socket, rest);
  }

  #fail(error) {
    this.#over = true;
    if (this.#server.listenerCount("clientError") > 0) {
      this.#server.emit("clientError", error, this.#socket);
      return;
    }
    if (this.#response === undefined) {
      const status = error.code === "HPE_HEADER_OVERFLOW" ? "431 Request Header Fields Too Large" : "400 Bad Request";
      this.#socket.write(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`, "latin1");
    }
    this.#socket.destroySoon?.();
  }

  #ended() {
    if (this.#over || this.#response !== undefined) return;
    try {
      this.#parser.finish();
      this.#socket.end();
    } catch (error) {
      this.#fail(error);
    }
  }

  #closed() {
    this.#server.connections--;
    if (this.#over) return;
    this.#over = true;
    const response = this.#response;
    if (response === undefined) return;
    if (!this.#request.readableEnded) this.#request.destroy(new ConnResetException("aborted"));
    response.destroyed = true;
    emitClose(response);
  }
}

module.exports = { ServerConnection };
