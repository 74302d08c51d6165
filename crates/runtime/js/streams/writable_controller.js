// @ts-check
"use strict";
// The default controller of writable streams: https://streams.spec.whatwg.org/#ws-default-controller-abstract-ops

const { PromisePrototypeThen, PromiseReject } = require("primordials");
const { createSignal, signalAbort } = require("dom/abort");
const { SizedQueue, checkSize } = require("streams/queue");
const { promiseOf } = require("streams/promises");
const { sizeOf } = require("streams/strategies");
const {
  ERRORING, WRITABLE, WritableState, closeQueuedOrInFlight, dealWithRejection, finishErroring, finishInFlightClose,
  finishInFlightCloseWithError, startErroring, updateBackpressure,
} = require("streams/writable_core");

/** Stands in the queue for the end of the stream. */
const CLOSE_SENTINEL = { __proto__: null };

/** Where chunks go: the write, close and abort algorithms. All may throw and may return anything, which is waited for. */
class Sink {
  write(_chunk, _controller) {}
  close() {}
  abort(_reason) {}
}

class WritableController {
  stream;
  /** @type {any} undefined when the algorithms are cleared */
  sink;
  highWaterMark;
  size;
  started = false;
  queue = new SizedQueue();
  /** @type {any} */
  signal = undefined;
  aborted = false;
  /** @type {any} */
  abortReason = undefined;
  /** @type {any} */
  onWritten = undefined;
  /** @type {any} */
  onWriteFailed = undefined;

  /** `size`: the strategy's function, undefined: 1. The start algorithm is run by the caller, then waitForStart. */
  constructor(stream, sink, highWaterMark, size) {
    this.stream = stream;
    this.sink = sink;
    this.highWaterMark = highWaterMark;
    this.size = size;
    stream.controller = this;
    updateBackpressure(stream, this.desiredSize() <= 0);
  }

  waitForStart(promise) {
    PromisePrototypeThen(
      promise,
      () => {
        this.started = true;
        this.advanceQueue();
      },
      (error) => {
        this.started = true;
        dealWithRejection(this.stream, error);
      },
    );
  }

  getSignal() {
    if (this.signal === undefined) {
      this.signal = createSignal();
      if (this.aborted) signalAbort(this.signal, this.abortReason);
    }
    return this.signal;
  }

  abortSignal(reason) {
    if (this.aborted) return;
    this.aborted = true;
    this.abortReason = reason;
    if (this.signal !== undefined) signalAbort(this.signal, reason);
  }

  desiredSize() {
    return this.highWaterMark - this.queue.totalSize;
  }

  clearAlgorithms() {
    this.sink = this.size = undefined;
  }

  /** WritableStreamDefaultControllerGetChunkSize */
  chunkSize(chunk) {
    if (this.size === undefined) return 1;
    try {
      return sizeOf(this.size, chunk);
    } catch (error) {
      this.errorIfNeeded(error);
      return 1;
    }
  }

  write(chunk, size) {
    try {
      checkSize(size);
    } catch (error) {
      this.errorIfNeeded(error);
      return;
    }
    this.queue.push(chunk, size);
    const stream = this.stream;
    if (!closeQueuedOrInFlight(stream) && stream.status === WRITABLE) updateBackpressure(stream, this.desiredSize() <= 0);
    this.advanceQueue();
  }

  close() {
    this.queue.push(CLOSE_SENTINEL, 0);
    this.advanceQueue();
  }

  error(error) {
    this.clearAlgorithms();
    startErroring(this.stream, error);
  }

  errorIfNeeded(error) {
    if (this.stream.status === WRITABLE) this.error(error);
  }

  abortSteps(reason) {
    const result = this.callSink(() => this.sink.abort(reason));
    this.clearAlgorithms();
    return result;
  }

  /** A promise for internal use. */
  callSink(algorithm) {
    try {
      return promiseOf(algorithm());
    } catch (error) {
      return PromiseReject(error);
    }
  }

  advanceQueue() {
    const stream = this.stream;
    if (!this.started || stream.inFlightWrite !== undefined) return;
    if (stream.status === ERRORING) {
      finishErroring(stream);
      return;
    }
    if (this.queue.length === 0) return;
    const value = this.queue.peek();
    if (value === CLOSE_SENTINEL) this.processClose();
    else this.processWrite(value);
  }

  processClose() {
    const stream = this.stream;
    stream.inFlightClose = stream.closeRequest;
    stream.closeRequest = undefined;
    this.queue.shift();
    const result = this.callSink(() => this.sink.close());
    this.clearAlgorithms();
    PromisePrototypeThen(result, () => finishInFlightClose(stream), (error) => finishInFlightCloseWithError(stream, error));
  }

  processWrite(chunk) {
    const stream = this.stream;
    stream.inFlightWrite = stream.writeRequests.shift();
    let result;
    try {
      result = promiseOf(this.sink.write(chunk, this));
    } catch (error) {
      result = PromiseReject(error);
    }
    if (this.onWritten === undefined) {
      this.onWritten = () => this.finishWrite();
      this.onWriteFailed = (error) => this.failWrite(error);
    }
    PromisePrototypeThen(result, this.onWritten, this.onWriteFailed);
  }

  finishWrite() {
    const stream = this.stream;
    const request = stream.inFlightWrite;
    request.resolve();
    stream.inFlightWrite = undefined;
    this.queue.shift();
    if (!closeQueuedOrInFlight(stream) && stream.status === WRITABLE) updateBackpressure(stream, this.desiredSize() <= 0);
    this.advanceQueue();
  }

  failWrite(error) {
    const stream = this.stream;
    if (stream.status === WRITABLE) this.clearAlgorithms();
    const request = stream.inFlightWrite;
    request.reject(error);
    stream.inFlightWrite = undefined;
    dealWithRejection(stream, error);
  }
}

/** CreateWritableStream, for an internal sink: its state, for writable.js to wrap. `start`: a promise of ours. */
function createWritableState(sink, highWaterMark, size, start) {
  const state = new WritableState();
  new WritableController(state, sink, highWaterMark, size).waitForStart(start);
  return state;
}

module.exports = { Sink, WritableController, createWritableState };
