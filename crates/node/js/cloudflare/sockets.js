"use strict";
// cloudflare:sockets (https://developers.cloudflare.com/workers/runtime-apis/tcp-sockets/): `connect` gives a Socket, a pair of
// streams over a TCP connection, under the app's egress policy.
//
// Deviations: a socket may be used by later requests of the worker, as sockets of node:net may; port 25 can be reached where
// the policy names it.

const net = binding("net");

const CHECK_CERTIFICATE = 1 | 2;
/** Bytes that are read ahead of the app. */
const READ_AHEAD = 64 * 1024;

/** Only this file makes sockets. */
const kMake = Symbol("make");

class Socket {
  #handle;
  #settings;
  #opened = Promise.withResolvers();
  #closed = Promise.withResolvers();
  #readable;
  #writable;
  #readController;
  #secure;
  #upgraded = false;
  /** The read that is under way; a secured socket goes on with it. */
  #pending;
  #ended = false;
  #shut = false;
  #done = false;

  constructor(token, settings, opening = undefined) {
    if (token !== kMake) throw new TypeError("Illegal constructor");
    this.#settings = settings;
    this.#secure = settings.secure;
    this.#opened.promise.catch(() => {});
    this.#closed.promise.catch(() => {});
    this.#makeStreams();
    this.#open(opening ?? this.#connect());
  }

  get readable() { return this.#readable; }
  get writable() { return this.#writable; }
  get opened() { return this.#opened.promise; }
  get closed() { return this.#closed.promise; }
  get upgraded() { return this.#upgraded; }
  get secureTransport() { return this.#secure; }

  close() {
    this.#end();
    return this.#closed.promise;
  }

  startTls(options = {}) {
    if (this.#secure !== "starttls") {
      throw new TypeError(`startTls() needs a socket that was made with secureTransport "starttls"; this one has "${this.#secure}"`);
    }
    if (this.#upgraded) throw new TypeError("startTls() was called on this socket before");
    if (this.#writable.locked) throw new TypeError("startTls() needs an unlocked writable: release its writer first");
    this.#upgraded = true;
    const settings = { ...this.#settings, secure: "on" };
    const name = options?.expectedServerHostname;
    if (name !== undefined) settings.name = `${name}`;
    const secured = this.#opened.promise.then(async (info) => {
      const handle = this.#handle;
      this.#handle = undefined;
      await secure(handle, settings);
      return { handle, info, pending: this.#pending };
    });
    this.#done = true;
    secured.then(() => {
      try { this.#readController.close(); } catch { /* it was cancelled */ }
      this.#closed.resolve();
    }, (error) => this.#fail(error));
    return new Socket(kMake, settings, secured);
  }

  async #connect() {
    const { host, port, secure: transport } = this.#settings;
    const result = await net.connect(host, port);
    check(result, `cannot connect to ${host}:${port}`);
    const [handle, address, remotePort, ownAddress, ownPort] = result;
    if (transport === "on") await secure(handle, this.#settings);
    return { handle, info: { remoteAddress: join(address, remotePort), localAddress: join(ownAddress, ownPort) } };
  }

  async #open(opening) {
    let opened;
    try {
      opened = await opening;
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.#done) {
      net.close(opened.handle);
      return;
    }
    this.#handle = opened.handle;
    this.#pending = opened.pending;
    this.#opened.resolve(opened.info);
  }

  #makeStreams() {
    this.#readable = new ReadableStream({
      type: "bytes",
      start: (controller) => { this.#readController = controller; },
      pull: (controller) => this.#pull(controller),
      cancel: () => this.#end(),
    }, { highWaterMark: READ_AHEAD / 64 });
    this.#writable = new WritableStream({
      write: (chunk) => this.#write(chunk),
      close: () => this.#shutdown(),
      abort: () => this.#end(),
    });
  }

  async #pull(controller) {
    await this.#opened.promise;
    const handle = this.#handle;
    if (handle === undefined) return;
    this.#pending ??= net.read(handle);
    const bytes = await this.#pending;
    if (this.#done) return;
    this.#pending = undefined;
    if (bytes === undefined) {
      this.#ended = true;
      controller.close();
      controller.byobRequest?.respond(0);
      if (!this.#settings.allowHalfOpen || this.#shut) this.#end();
      return;
    }
    if (Array.isArray(bytes)) {
      const error = new TypeError(`the connection was lost: ${bytes[1]}`);
      this.#fail(error);
      throw error;
    }
    controller.enqueue(bytes);
  }

  async #write(chunk) {
    const bytes = ArrayBuffer.isView(chunk) || chunk instanceof ArrayBuffer ? chunk : undefined;
    if (bytes === undefined) throw new TypeError("a socket takes bytes: an ArrayBuffer or a view of one");
    await this.#opened.promise;
    if (this.#handle === undefined) throw new TypeError("the socket is closed");
    const written = await net.write(this.#handle, bytes);
    if (Array.isArray(written)) {
      const error = new TypeError(`the connection was lost: ${written[1]}`);
      this.#fail(error);
      throw error;
    }
  }

  async #shutdown() {
    await this.#opened.promise;
    if (this.#handle !== undefined) await net.shutdown(this.#handle);
    this.#shut = true;
    if (this.#ended) this.#end();
  }

  #release() {
    this.#done = true;
    const handle = this.#handle;
    this.#handle = undefined;
    if (handle !== undefined) net.close(handle);
  }

  #end() {
    if (this.#done) return;
    this.#release();
    try { this.#readController.close(); } catch { /* it is closed already */ }
    this.#opened.reject(new TypeError("the socket was closed before it was open"));
    this.#closed.resolve();
  }

  #fail(error) {
    if (this.#done && this.#handle === undefined && this.#ended) return;
    this.#release();
    try { this.#readController.error(error); } catch { /* it is closed already */ }
    this.#opened.reject(error);
    this.#closed.reject(error);
  }
}

function join(address, port) {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

async function secure(handle, { host, name = host }) {
  const result = await net.secure(handle, name, CHECK_CERTIFICATE, [], [], []);
  if (isFault(result)) {
    net.close(handle);
    throw new TypeError(`no secure connection to ${name}: ${result[1]}`);
  }
}

/** Faults are three strings; a secured connection has six values. */
function isFault(result) {
  return Array.isArray(result) && result.length === 3;
}

function check(result, what) {
  if (isFault(result)) throw new TypeError(`${what}: ${result[1]}`);
}

/** "host:port", "[::1]:port", or { hostname, port }. */
function parseAddress(address) {
  if (typeof address === "object" && address !== null) {
    return { host: stripBrackets(`${address.hostname}`), port: parsePort(address.port) };
  }
  const text = `${address}`;
  const at = text.lastIndexOf(":");
  if (at < 0) throw new TypeError(`the address "${text}" needs a port: host:port`);
  return { host: stripBrackets(text.slice(0, at)), port: parsePort(text.slice(at + 1)) };
}

function stripBrackets(host) {
  return host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
}

function parsePort(port) {
  const number = typeof port === "number" ? port : /^\d{1,5}$/.test(port) ? Number(port) : NaN;
  if (!Number.isInteger(number) || number < 1 || number > 65535) {
    throw new TypeError(`the port ${port} is not a number from 1 to 65535`);
  }
  return number;
}

function connect(address, options = {}) {
  const { host, port } = parseAddress(address);
  const transport = options?.secureTransport ?? "off";
  if (transport !== "off" && transport !== "on" && transport !== "starttls") {
    throw new TypeError(`secureTransport is "${transport}"; it can be "off", "on" or "starttls"`);
  }
  return new Socket(kMake, { host, port, secure: transport, allowHalfOpen: options?.allowHalfOpen === true });
}

module.exports = { connect };
