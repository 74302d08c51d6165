"use strict";
// Requests over a connection that the app has made by itself (an agent's, a Unix socket's): the sink of a ClientRequest that
// writes HTTP/1.1, and the reader of its responses.

const { Buffer } = require("buffer");
const { ConnResetException } = require("internal/errors");
const { IncomingMessage, kSource } = require("_http_incoming");
const { closeRequest, failRequest, interim, respond, touch } = require("_http_client");
const { Feed } = require("internal/http/feed");
const { Parser, parseError } = require("internal/http/parser");
const { SocketSink } = require("internal/http/socket_sink");

const STATUS_LINE = /^HTTP\/(\d)\.(\d) (\d{3})(?: (.*))?$/;

class ConnectionSink extends SocketSink {
  constructor(request, socket) {
    super(socket);
    new ResponseReader(request, socket);
  }
}

class ResponseReader {
  #request;
  #socket;
  #parser;
  #feed = undefined;
  #response = undefined;
  #isInterim = false;
  #over = false;

  constructor(request, socket) {
    this.#request = request;
    this.#socket = socket;
    this.#parser = new Parser({
      onHead: (line, headers) => this.#head(line, headers),
      onBody: (bytes) => this.#body(bytes),
      onEnd: (trailers) => this.#end(trailers),
    });
    socket.on("data", this.#onData);
    socket.on("end", this.#onEnd);
    socket.on("close", this.#onClose);
    socket.on("error", this.#onError);
  }

  #onData = (bytes) => {
    touch(this.#request);
    try {
      const rest = this.#parser.execute(bytes);
      if (rest !== undefined) this.#upgrade(rest);
    } catch (error) {
      this.#fail(error);
      this.#socket.destroy();
    }
  };

  #onEnd = () => {
    if (this.#over) return;
    try {
      this.#parser.finish();
      if (!this.#over) this.#fail(new ConnResetException("socket hang up"));
    } catch (error) {
      this.#fail(this.#response === undefined ? new ConnResetException("socket hang up") : error);
    }
  };

  #onClose = () => this.#onEnd();
  #onError = (error) => this.#fail(error);

  #head(line, headers) {
    const found = STATUS_LINE.exec(line);
    if (found === null) throw parseError("HPE_INVALID_CONSTANT", "Expected HTTP/");
    const status = +found[3];
    const { method } = this.#request;
    const isUpgrade = status === 101 || (method === "CONNECT" && status >= 200 && status < 300);
    this.#isInterim = status < 200 && !isUpgrade;
    if (this.#isInterim) {
      interim(this.#request, status, found[4] ?? "", headers);
      return { none: true };
    }
    const response = new IncomingMessage();
    this.#feed = new Feed(() => this.#socket, () => this.#socket.resume(), () => this.#socket.destroy());
    response[kSource] = this.#feed;
    response.httpVersionMajor = +found[1];
    response.httpVersionMinor = +found[2];
    response.httpVersion = `${found[1]}.${found[2]}`;
    response.statusCode = status;
    response.statusMessage = found[4] ?? "";
    response.rawHeaders = headers;
    response.joinDuplicateHeaders = this.#request.joinDuplicateHeaders ?? false;
    this.#response = response;
    if (isUpgrade) return { upgrade: true };
    respond(this.#request, response);
    return { none: method === "HEAD" || status === 204 || status === 304, untilClose: true };
  }

  #body(bytes) {
    // Bytes of the socket's own are the reader's from here on.
    if (!this.#feed.write(Buffer.from(bytes))) this.#socket.pause();
  }

  #end(trailers) {
    if (this.#isInterim) return;
    this.#leave();
    this.#response.rawTrailers = trailers;
    this.#response.once("end", () => closeRequest(this.#request));
    this.#feed.end();
    // An agent that keeps connections listens for it.
    if (this.#socket.listenerCount("free") > 0) this.#socket.emit("free");
    else this.#socket.end();
  }

  #upgrade(head) {
    const [request, response] = [this.#request, this.#response];
    this.#leave();
    request.upgradeOrConnect = true;
    request.res = response;
    response.upgrade = true;
    response.complete = true;
    const event = request.method === "CONNECT" ? "connect" : "upgrade";
    if (request.listenerCount(event) === 0) {
      this.#socket.destroy();
      failRequest(request, new ConnResetException("socket hang up"));
      return;
    }
    request.emit(event, response, this.#socket, head);
    closeRequest(request);
  }

  #fail(error) {
    if (this.#over) return;
    this.#leave();
    if (this.#response === undefined) {
      failRequest(this.#request, error);
    } else {
      this.#response.destroy(new ConnResetException("aborted"));
      closeRequest(this.#request);
    }
  }

  /** The socket is not read here any more. */
  #leave() {
    this.#over = true;
    const socket = this.#socket;
    socket.removeListener("data", this.#onData);
    socket.removeListener("end", this.#onEnd);
    socket.removeListener("close", this.#onClose);
    // An error that comes later has no other listener, and must not be uncaught.
    socket.removeListener("error", this.#onError);
    if (socket.listenerCount("error") === 0) socket.on("error", () => {});
  }
}

module.exports = { ConnectionSink, ResponseReader };
