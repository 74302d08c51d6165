"use strict";
// What a net.Socket reads from and writes to: a native connection, or one end of a pair in memory. Both have
//   readStart(), readStop(), write(bytes, done), shutdown(done), close(), and call `onread` with bytes, null at the end, or an error;
//   address, port, ownAddress, ownPort.

const net = binding("net");
const { numbers } = require("internal/system_errors");

/** A fault of the natives, [code, message, address], as Node has such errors. */
function faultError([code, message], syscall) {
  const error = new Error(`${syscall} ${code}${code === "EIO" || code === "EPROTO" || code === "EACCES" ? `: ${message}` : ""}`);
  return Object.assign(error, { errno: numbers.get(code), code, syscall });
}

class NativeHandle {
  onread = undefined;
  #id;
  #run;
  #reading = false;
  #pending = false;

  constructor([id, address, port, ownAddress, ownPort], run) {
    this.#id = id;
    this.#run = run;
    Object.assign(this, { address, port, ownAddress, ownPort });
  }

  get id() { return this.#id; }

  readStart() {
    this.#reading = true;
    if (!this.#pending && this.#id !== undefined) this.#read();
  }

  /** One more piece may come: the one that is being read. */
  readStop() { this.#reading = false; }

  #read() {
    this.#pending = true;
    net.read(this.#id).then((result) => this.#run(() => this.#arrived(result)), (error) => this.#run(() => this.#arrived(error)));
  }

  #arrived(result) {
    this.#pending = false;
    if (this.#id === undefined) return;
    if (result instanceof Uint8Array) {
      this.onread?.(result);
      if (this.#reading && !this.#pending && this.#id !== undefined) this.#read();
    } else if (result === undefined) {
      this.onread?.(null);
    } else {
      this.onread?.(Array.isArray(result) ? faultError(result, "read") : result);
    }
  }

  write(bytes, done) {
    let written;
    try {
      written = this.#id === undefined ? Promise.resolve(["EPIPE", "", ""]) : net.write(this.#id, bytes);
    } catch (error) {
      written = Promise.reject(error);
    }
    if (written === true) return done();
    this.#settle(written, "write", done);
  }

  shutdown(done) {
    if (this.#id === undefined) return done();
    this.#settle(net.shutdown(this.#id), "shutdown", done);
  }

  #settle(promise, syscall, done) {
    promise.then((result) => this.#run(done, result === undefined ? undefined : faultError(result, syscall)), (error) => this.#run(done, error));
  }

  close() {
    if (this.#id === undefined) return;
    net.close(this.#id);
    this.#id = undefined;
  }
}

/** What the end of a pair in memory takes before it is read, and the most that it gives at a time. */
const BUFFER = 65536;

/** One end of a pair. What is written waits at the other end until that reads; its writer goes on while that is little. */
class MemoryHandle {
  onread = undefined;
  peer = undefined;
  #run = net.capture();
  #queue = [];
  #reading = false;
  #closed = false;
  #waiting = 0;
  #scheduled = false;

  static pair(client, server) {
    const ends = [new MemoryHandle(), new MemoryHandle()];
    const [one, other] = ends;
    one.peer = other;
    other.peer = one;
    Object.assign(one, { address: server.address, port: server.port, ownAddress: client.address, ownPort: client.port });
    Object.assign(other, { address: client.address, port: client.port, ownAddress: server.address, ownPort: server.port });
    return ends;
  }

  readStart() {
    this.#reading = true;
    this.#schedule();
  }

  readStop() { this.#reading = false; }

  write(bytes, done) {
    if (this.#closed || this.peer.#closed) return queueMicrotask(() => this.#run(done, faultError(["EPIPE", "", ""], "write")));
    const written = () => this.#run(done);
    this.peer.#waiting += bytes.length;
    const later = this.peer.#waiting > BUFFER;
    this.peer.#queue.push({ value: new Uint8Array(bytes), done: later ? written : undefined });
    this.peer.#schedule();
    if (!later) queueMicrotask(written);
  }

  shutdown(done) {
    this.peer.#queue.push({ value: null });
    this.peer.#schedule();
    queueMicrotask(() => this.#run(done));
  }

  close() {
    if (this.#closed) return;
    this.#closed = true;
    // What was not read can no longer be: its writer is told of a lost connection.
    const lost = this.#queue.some(({ value }) => value !== null);
    for (const { done } of this.#queue.splice(0)) if (done !== undefined) queueMicrotask(done);
    if (this.peer.#closed) return;
    this.peer.#queue.push({ value: lost || this.reset ? faultError(["ECONNRESET", "", ""], "read") : null });
    this.peer.#schedule();
  }

  #schedule() {
    if (this.#scheduled || !this.#reading || this.#closed) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#run(() => this.#deliver());
    });
  }

  #deliver() {
    while (this.#reading && !this.#closed && this.#queue.length > 0) {
      const entry = this.#queue[0];
      const { value } = entry;
      if (!(value instanceof Uint8Array) || value.length <= BUFFER) {
        this.#queue.shift();
        this.#waiting -= value?.length ?? 0;
        entry.done?.();
        this.onread?.(value);
      } else {
        entry.value = value.subarray(BUFFER);
        this.#waiting -= BUFFER;
        this.onread?.(value.subarray(0, BUFFER));
      }
    }
  }
}

module.exports = { MemoryHandle, NativeHandle, faultError };
