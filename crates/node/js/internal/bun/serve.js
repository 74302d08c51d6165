"use strict";
// Bun.serve (https://bun.sh/docs/api/http) over the app's own fetch handler: `fetch`, `routes`, `error` and `websocket`. The port is
// ignored: requests to the app come here. The first server counts; another is an error.
//
// Deviations: `reload` changes the handlers of the same server; `publish` reaches the sockets of this worker; `requestIP` has no
// port; sockets have no backpressure (`drain` is not called), and `ping` and `pong` do nothing.

const http = binding("http");

let current;

/** The 101 of a request that was upgraded. */
const upgraded = new WeakMap();

class BunServer {
  #options;
  #topics = new Map();
  hostname;
  port;
  development = false;
  id = "";
  pendingRequests = 0;
  pendingWebSockets = 0;

  constructor(options) {
    this.hostname = options.hostname ?? "localhost";
    this.port = Number(options.port ?? 3000) || 3000;
    this.reload(options);
  }

  get url() { return new URL(`http://${this.hostname}:${this.port}/`); }

  reload(options) {
    const { fetch, routes } = options;
    if (typeof fetch !== "function" && routes === undefined) throw new TypeError("Bun.serve() needs a fetch handler or routes");
    this.#options = options;
    const own = fetch === undefined ? undefined : (request) => fetch.call(this, request, this);
    const handle = routes === undefined ? own : http.routerOf(withServer(routes, this), own);
    http.setHandler((request) => this.#answer(handle, request));
    return this;
  }

  #answer(handle, request) {
    let result;
    try {
      result = handle(request);
    } catch (error) {
      return this.#failed(error);
    }
    if (typeof result?.then === "function") {
      return result.then((response) => response ?? upgraded.get(request), (error) => this.#failed(error));
    }
    return result ?? upgraded.get(request);
  }

  #failed(error) {
    if (typeof this.#options.error !== "function") throw error;
    return this.#options.error.call(this, error);
  }

  fetch(request) {
    return Promise.resolve(this.#answer((given) => this.#options.fetch.call(this, given, this), new Request(request)));
  }

  upgrade(request, options = {}) {
    if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") return false;
    const handlers = this.#options.websocket;
    if (handlers === undefined) throw new TypeError("Bun.serve() needs a `websocket` object to upgrade requests");
    const [client, socket] = Object.values(new WebSocketPair());
    socket.accept();
    upgraded.set(request, new Response(null, { status: 101, webSocket: client, headers: options.headers }));
    const own = new ServerSocket(this, socket, request, options.data, this.#topics);
    this.pendingWebSockets++;
    socket.addEventListener("message", ({ data }) => handlers.message?.(own, typeof data === "string" ? data : own.bytes(data)));
    socket.addEventListener("close", ({ code, reason }) => {
      this.pendingWebSockets--;
      own.leave();
      handlers.close?.(own, code, reason);
    });
    queueMicrotask(() => handlers.open?.(own));
    return true;
  }

  publish(topic, data) {
    let sent = 0;
    for (const socket of this.#topics.get(topic) ?? []) sent += Math.max(socket.send(data), 0);
    return sent;
  }

  subscriberCount(topic) { return this.#topics.get(topic)?.size ?? 0; }

  requestIP(request) {
    const address = request.headers.get("x-forwarded-for");
    return address === null ? null : { address, family: address.includes(":") ? "IPv6" : "IPv4", port: 0 };
  }

  timeout() {}
  ref() { return this; }
  unref() { return this; }

  stop() {
    if (current === this) current = undefined;
    http.setHandler(() => new Response("The server was stopped", { status: 503 }));
    return Promise.resolve();
  }
}

class ServerSocket {
  #server;
  #socket;
  #topics;
  #own = new Set();
  binaryType = "nodebuffer";

  constructor(server, socket, request, data, topics) {
    this.#server = server;
    this.#socket = socket;
    this.#topics = topics;
    this.data = data;
    this.remoteAddress = request.headers.get("x-forwarded-for") ?? "";
  }

  get readyState() { return this.#socket.readyState; }
  get subscriptions() { return [...this.#own]; }

  bytes(data) {
    if (this.binaryType === "arraybuffer") return data;
    return this.binaryType === "uint8array" ? new Uint8Array(data) : Buffer.from(data);
  }

  send(data) {
    if (this.readyState !== 1) return 0;
    this.#socket.send(data);
    return typeof data === "string" ? data.length : data.byteLength;
  }

  sendText(data) { return this.send(`${data}`); }
  sendBinary(data) { return this.send(data); }
  close(code, reason) { if (this.readyState === 1) this.#socket.close(code ?? 1000, reason); }
  terminate() { this.close(1000); }
  ping() { return 0; }
  pong() { return 0; }
  cork(callback) { return callback(this); }

  subscribe(topic) {
    this.#own.add(topic);
    if (!this.#topics.has(topic)) this.#topics.set(topic, new Set());
    this.#topics.get(topic).add(this);
  }

  unsubscribe(topic) {
    this.#own.delete(topic);
    const sockets = this.#topics.get(topic);
    sockets?.delete(this);
    if (sockets?.size === 0) this.#topics.delete(topic);
  }

  isSubscribed(topic) { return this.#own.has(topic); }

  /** To all others of the topic. */
  publish(topic, data) {
    let sent = 0;
    for (const socket of this.#topics.get(topic) ?? []) if (socket !== this) sent += socket.send(data);
    return sent;
  }

  leave() {
    for (const topic of [...this.#own]) this.unsubscribe(topic);
  }
}

/** Handlers of routes get the server, too. */
function withServer(routes, server) {
  const bind = (value) => (typeof value === "function" ? (request) => value.call(server, request, server) : value);
  return Object.fromEntries(Object.entries(routes).map(([path, value]) => {
    const isMethods = typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
    return [path, isMethods ? Object.fromEntries(Object.entries(value).map(([method, one]) => [method, bind(one)])) : bind(value)];
  }));
}

function serve(options) {
  if (typeof options !== "object" || options === null) throw new TypeError("Bun.serve() needs options");
  if (current !== undefined) throw new Error("Bun.serve(): this app has a server already: its requests go to the first");
  current = new BunServer(options);
  return current;
}

module.exports = { serve };
