"use strict";
// Requests for a WebSocket that come by the gateway, for a server with "upgrade" listeners (npm's ws, say). The listener gets an
// end of a connection in memory and answers on it as on a socket. At the other end its head and its frames are read, and
// become a WebSocket of Hearth's, whose handshake, pings and compression are the gateway's.

const { Buffer } = require("buffer");
const { kSocket } = require("_http_incoming");
const { duplexPair } = require("internal/http/duplex_pair");
const { Parser, parseError } = require("internal/http/parser");
const { BINARY, CLOSE, FrameReader, PING, PONG, TEXT, frame } = require("internal/http/websocket_frames");

const http = binding("http");

/** The gateway's own. */
const NOT_PASSED = new Set([
  "upgrade", "connection", "sec-websocket-accept", "sec-websocket-extensions", "content-length", "transfer-encoding",
]);
const MAX_REFUSAL = 1024 * 1024;

function upgrade(exchange, server) {
  const { request } = exchange;
  const [far, near] = duplexPair();
  far.remoteAddress = exchange.header("x-forwarded-for")?.split(",")[0].trim();
  far.encrypted = exchange.url.startsWith("https:") || undefined;
  far.server = server;
  // Frames that are compressed would have to be undone here.
  const headers = [];
  for (let i = 0; i < exchange.headers.length; i += 2) {
    if (exchange.headers[i] !== "sec-websocket-extensions") headers.push(exchange.headers[i], exchange.headers[i + 1]);
  }
  headers.push("connection", "Upgrade");
  request.rawHeaders = headers;
  request.upgrade = true;
  request[kSocket] = far;
  new UpgradeAnswer(exchange, near);
  server.emit("upgrade", request, far, Buffer.alloc(0));
}

/** Reads what the listener writes. */
class UpgradeAnswer {
  #exchange;
  #socket;
  #parser;
  #status = 0;
  #phrase = "";
  #headers = [];
  #body = [];
  #size = 0;
  #reader = undefined;
  #webSocket = undefined;
  #answered = false;

  constructor(exchange, socket) {
    this.#exchange = exchange;
    this.#socket = socket;
    this.#parser = new Parser({
      onHead: (line, headers) => this.#head(line, headers),
      onBody: (bytes) => this.#part(bytes),
      onEnd: () => this.#refuse(),
    });
    socket.on("data", (bytes) => this.#data(bytes));
    socket.on("end", () => this.#ended());
    socket.on("close", () => this.#ended());
    socket.on("error", () => {});
    // The client goes away before there is an answer.
    exchange.gone = () => {
      exchange.finish();
      socket.destroy();
    };
  }

  #data(bytes) {
    try {
      if (this.#reader !== undefined) {
        this.#reader.execute(bytes);
        return;
      }
      const rest = this.#parser.execute(bytes);
      if (rest === undefined) return;
      this.#accept();
      if (rest.length > 0) this.#reader.execute(rest);
    } catch (error) {
      this.#fail(error);
    }
  }

  #head(line, headers) {
    const found = /^HTTP\/1\.[01] (\d{3})(?: (.*))?$/.exec(line);
    if (found === null) throw parseError("HPE_INVALID_CONSTANT", "Expected HTTP/");
    this.#status = +found[1];
    this.#phrase = found[2] ?? "";
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i].toLowerCase();
      if (!NOT_PASSED.has(name)) this.#headers.push(name, headers[i + 1]);
    }
    return { upgrade: this.#status === 101, untilClose: true };
  }

  #part(bytes) {
    this.#size += bytes.length;
    if (this.#size > MAX_REFUSAL) throw new RangeError("the answer to an upgrade is longer than 1 MB");
    this.#body.push(Buffer.from(bytes));
  }

  /** Another answer than 101. */
  #refuse() {
    if (this.#answered || this.#status === 101) return;
    this.#answered = true;
    this.#exchange.finish();
    const body = Buffer.concat(this.#body);
    http.respond(this.#exchange.id, this.#status, this.#phrase, this.#headers, body.length > 0 ? 1 : 0, body);
  }

  #accept() {
    this.#answered = true;
    this.#exchange.finish();
    const [client, app] = Object.values(new WebSocketPair());
    this.#webSocket = app;
    this.#reader = new FrameReader((opcode, payload) => this.#message(opcode, payload));
    app.accept();
    app.addEventListener("message", ({ data }) => {
      if (typeof data === "string") this.#write(TEXT, Buffer.from(data));
      else this.#write(BINARY, Buffer.from(data));
    });
    app.addEventListener("close", ({ code, reason }) => this.#closed(code, reason));
    http.respondSocket(this.#exchange.id, this.#headers, client);
  }

  #write(opcode, payload) {
    if (this.#socket.writable) this.#socket.write(frame(opcode, payload));
  }

  /** A message of the app's implementation. */
  #message(opcode, payload) {
    const socket = this.#webSocket;
    if (opcode === PING) {
      this.#write(PONG, payload);
    } else if (opcode === CLOSE) {
      const code = payload.length >= 2 ? payload.readUInt16BE(0) : undefined;
      // Its own side is closed by an answer, and then the connection.
      this.#write(CLOSE, payload);
      this.#socket.end();
      if (socket.readyState === 1) {
        if (code === undefined) socket.close();
        else socket.close(code, payload.utf8Slice(2));
      }
    } else if (opcode !== PONG && socket.readyState === 1) {
      // Bytes of the connection are let go of when the call returns.
      socket.send(opcode === TEXT ? payload.utf8Slice(0, payload.length) : payload);
    }
  }

  /** The client has closed it, or was lost. */
  #closed(code, reason) {
    if (!this.#socket.writable) return;
    if (code === 1006) {
      this.#socket.destroy();
      return;
    }
    const text = Buffer.from(reason ?? "");
    const payload = Buffer.alloc(code === 1005 ? 0 : 2 + text.length);
    if (code !== 1005) {
      payload.writeUInt16BE(code, 0);
      text.copy(payload, 2);
    }
    this.#write(CLOSE, payload);
    this.#socket.end();
  }

  #ended() {
    if (!this.#answered) {
      if (this.#status !== 0 && this.#status !== 101) this.#refuse();
      else this.#fail(new Error("the upgrade was not answered"));
    } else if (this.#webSocket?.readyState === 1) {
      this.#webSocket.close();
    }
  }

  #fail(error) {
    if (!this.#answered) {
      this.#answered = true;
      if (this.#exchange.over) return;
      this.#exchange.finish();
      http.failRequest(this.#exchange.id, `${error.message}`);
    } else if (this.#webSocket?.readyState === 1) {
      this.#webSocket.close(1011, "");
    }
    this.#socket.destroy();
  }
}

module.exports = { upgrade };
