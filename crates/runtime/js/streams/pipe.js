// @ts-check
"use strict";
// ReadableStreamPipeTo: https://streams.spec.whatwg.org/#readable-stream-pipe-to

const { PromisePrototypeThen, PromiseResolve, PromiseWithResolvers, PromiseAll, TypeError } = require("primordials");
const { abortReason, addAbortAlgorithm, isAborted, removeAbortAlgorithm } = require("dom/abort");
const { queueTask } = require("streams/promises");
const {
  READABLE, CLOSED: READABLE_CLOSED, ERRORED: READABLE_ERRORED, ReadRequest, acquireDefaultReader, defaultRead,
  readableCancel, releaseReader,
} = require("streams/readable_core");
const {
  WRITABLE, CLOSED: WRITABLE_CLOSED, ERRORED: WRITABLE_ERRORED, ERRORING, WriteRequest, Writer, closeQueuedOrInFlight,
  releaseWriter, writableAbort, writerCloseWithErrorPropagation, writerDesiredSize, writerWrite,
} = require("streams/writable_core");

/** One chunk on its way into the destination; failures are seen by the destination's state. */
class PipeWrite extends WriteRequest {
  pipe;
  constructor(pipe) {
    super();
    this.pipe = pipe;
  }
  resolve() { this.pipe.written(); }
  reject() { this.pipe.written(); }
}

/** A pipe; also the read request that it uses over and over. */
class Pipe extends ReadRequest {
  source;
  dest;
  preventClose;
  preventAbort;
  preventCancel;
  signal;
  reader;
  writer;
  resolvers = PromiseWithResolvers();
  shuttingDown = false;
  /** A read request is with the source. */
  reading = false;
  /** run() is on the stack. */
  running = false;
  /** A chunk that was read and not yet written. */
  hasChunk = false;
  /** @type {any} */
  chunk = undefined;
  pendingWrites = 0;
  /** @type {any} what to do when the last write is over */
  afterWrites = undefined;
  /** @type {any} */
  abortAlgorithm = undefined;
  goOn = () => { if (!this.running && !this.reading && !this.shuttingDown) this.run(); };

  constructor(source, dest, preventClose, preventAbort, preventCancel, signal) {
    super();
    this.source = source;
    this.dest = dest;
    this.preventClose = preventClose;
    this.preventAbort = preventAbort;
    this.preventCancel = preventCancel;
    this.signal = signal;
    this.reader = acquireDefaultReader(source);
    this.writer = new Writer(dest);
    source.disturbed = true;
  }

  start() {
    const { signal } = this;
    if (signal !== undefined) {
      this.abortAlgorithm = () => this.abort();
      if (isAborted(signal)) {
        this.abort();
        return this.resolvers.promise;
      }
      addAbortAlgorithm(signal, this.abortAlgorithm);
    }
    if (!this.checkStates()) {
      const check = () => this.checkStates();
      PromisePrototypeThen(this.reader.closed.get(), check, check);
      PromisePrototypeThen(this.writer.closed.get(), check, check);
      this.run();
    }
    return this.resolvers.promise;
  }

  /** The four conditions under which errors and closing go on to the other side, in their order. True: shutting down. */
  checkStates() {
    if (this.shuttingDown) return true;
    const { source, dest } = this;
    if (source.status === READABLE_ERRORED) {
      const error = source.storedError;
      this.shutdown(this.preventAbort ? undefined : () => writableAbort(dest, error), true, error);
    } else if (dest.status === WRITABLE_ERRORED) {
      const error = dest.storedError;
      this.shutdown(this.preventCancel ? undefined : () => readableCancel(source, error), true, error);
    } else if (source.status === READABLE_CLOSED) {
      this.shutdown(this.preventClose ? undefined : () => writerCloseWithErrorPropagation(dest), false, undefined);
    } else if (closeQueuedOrInFlight(dest) || dest.status === WRITABLE_CLOSED) {
      const error = new TypeError("The destination is closed");
      this.shutdown(this.preventCancel ? undefined : () => readableCancel(source, error), true, error);
    } else {
      return false;
    }
    return true;
  }

  /** Reads and writes while there is something to read and room to write. */
  run() {
    this.running = true;
    while (!this.shuttingDown && !this.reading) {
      if (this.hasChunk) {
        this.writeChunk();
        continue;
      }
      if (this.checkStates()) break;
      if (this.dest.status === ERRORING) break; // `closed` will tell
      if (!(writerDesiredSize(this.dest) > 0)) {
        this.writer.ready.whenSettled(this.goOn); // as does whatever makes room, or errors the stream
        break;
      }
      this.reading = true;
      defaultRead(this.reader, this);
    }
    this.running = false;
  }

  writeChunk() {
    const { chunk } = this;
    this.hasChunk = false;
    this.chunk = undefined;
    this.pendingWrites++;
    writerWrite(this.writer, chunk, new PipeWrite(this));
  }

  chunkSteps(chunk) {
    this.reading = false;
    this.hasChunk = true;
    this.chunk = chunk;
    // Not now: an enqueue() of the app is on the stack, and must not run write() of the app's sink.
    if (!this.running) queueTask(this.goOn);
  }

  closeSteps() { this.reading = false; }
  errorSteps() { this.reading = false; }

  written() {
    if (--this.pendingWrites === 0 && this.afterWrites !== undefined) {
      const next = this.afterWrites;
      this.afterWrites = undefined;
      // The write's own promise has just been settled: what waits for it comes a microtask later.
      queueTask(next);
    }
  }

  /** "Shutdown" and "shutdown with an action". */
  shutdown(action, failed, error) {
    if (this.shuttingDown) return;
    this.shuttingDown = true;
    const next = () => this.act(action, failed, error);
    if (this.dest.status === WRITABLE && !closeQueuedOrInFlight(this.dest)) {
      if (this.hasChunk) this.writeChunk();
      // Also when nothing is being written: code that waits for promises runs a microtask later.
      if (this.pendingWrites > 0) this.afterWrites = next;
      else queueTask(next);
    } else {
      next();
    }
  }

  act(action, failed, error) {
    if (action === undefined) {
      this.finalize(failed, error);
      return;
    }
    PromisePrototypeThen(action(), () => this.finalize(failed, error), (newError) => this.finalize(true, newError));
  }

  finalize(failed, error) {
    releaseWriter(this.writer);
    releaseReader(this.reader);
    if (this.signal !== undefined) removeAbortAlgorithm(this.signal, this.abortAlgorithm);
    if (failed) this.resolvers.reject(error);
    else this.resolvers.resolve(undefined);
  }

  /** The abort algorithm of the signal. */
  abort() {
    const { source, dest } = this;
    const error = abortReason(this.signal);
    this.shutdown(() => {
      const first = this.preventAbort || dest.status !== WRITABLE ? PromiseResolve(undefined) : writableAbort(dest, error);
      const second = this.preventCancel || source.status !== READABLE ? PromiseResolve(undefined) : readableCancel(source, error);
      return PromiseAll([first, second]);
    }, true, error);
  }
}

/** Pipes; neither of the states may be locked. Returns the promise of pipeTo. */
function pipe(source, dest, preventClose, preventAbort, preventCancel, signal) {
  return new Pipe(source, dest, preventClose, preventAbort, preventCancel, signal).start();
}

module.exports = { pipe };
