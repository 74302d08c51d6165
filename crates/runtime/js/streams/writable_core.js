// @ts-check
"use strict";
// The state of writable streams and of their writers, without anything that an app sees:
// https://streams.spec.whatwg.org/#ws-all-abstract-ops. Their controller is in writable_controller.js, the classes that apps
// see are in writable.js.
//
// Deviation, not observable: `closed`, `ready` and the controller's signal are made when first asked for; a write is a
// WriteRequest, and only write() of the public writer makes a promise of it.

const { PromisePrototypeThen, PromiseReject, PromiseResolve, PromiseWithResolvers, TypeError } = require("primordials");
const { LinkedList } = require("streams/queue");
const { LazyPromise } = require("streams/promises");

const WRITABLE = 0, CLOSED = 1, ERRORING = 2, ERRORED = 3;

class WritableState {
  status = WRITABLE;
  backpressure = false;
  /** @type {Writer | undefined} */
  writer = undefined;
  /** @type {any} */
  controller = undefined;
  /** @type {any} */
  storedError = undefined;
  writeRequests = new LinkedList();
  /** @type {WriteRequest | undefined} */
  inFlightWrite = undefined;
  /** @type {any} resolvers of the promise of close() */
  closeRequest = undefined;
  /** @type {any} */
  inFlightClose = undefined;
  /** @type {any} { promise, resolve, reject, reason, wasAlreadyErroring } */
  pendingAbort = undefined;
}

/** What is to happen when a chunk is written, or is not. */
class WriteRequest {
  /** @type {WriteRequest | undefined} */
  next = undefined;
  resolve() {}
  reject(_error) {}
}

class PromiseWriteRequest extends WriteRequest {
  resolvers = PromiseWithResolvers();
  resolve() { this.resolvers.resolve(undefined); }
  reject(error) { this.resolvers.reject(error); }
}

function closeQueuedOrInFlight(stream) {
  return stream.closeRequest !== undefined || stream.inFlightClose !== undefined;
}

class Writer {
  /** @type {WritableState | undefined} */
  stream;
  ready = new LazyPromise();
  closed = new LazyPromise();

  /** SetUpWritableStreamDefaultWriter */
  constructor(stream) {
    if (stream.writer !== undefined) throw new TypeError("The stream is locked to a writer already");
    this.stream = stream;
    stream.writer = this;
    switch (stream.status) {
      case WRITABLE:
        if (closeQueuedOrInFlight(stream) || !stream.backpressure) this.ready.resolve();
        break;
      case ERRORING:
        this.ready.reject(stream.storedError);
        break;
      case CLOSED:
        this.ready.resolve();
        this.closed.resolve();
        break;
      default:
        this.ready.reject(stream.storedError);
        this.closed.reject(stream.storedError);
    }
  }
}

/** WritableStreamDefaultWriterRelease */
function releaseWriter(writer) {
  const error = new TypeError("The writer was released");
  writer.ready.ensureRejected(error);
  writer.closed.ensureRejected(error);
  writer.stream.writer = undefined;
  writer.stream = undefined;
}

/** WritableStreamDefaultWriterGetDesiredSize */
function writerDesiredSize(stream) {
  if (stream.status === WRITABLE) return stream.controller.desiredSize();
  return stream.status === CLOSED ? 0 : null;
}

/** WritableStreamDefaultWriterWrite; the request may be settled when this returns. */
function writerWrite(writer, chunk, request) {
  const stream = writer.stream;
  const controller = stream.controller;
  const size = controller.chunkSize(chunk);
  if (stream !== writer.stream) return request.reject(new TypeError("The writer was released"));
  if (stream.status === ERRORED) return request.reject(stream.storedError);
  if (closeQueuedOrInFlight(stream) || stream.status === CLOSED) {
    return request.reject(new TypeError("The stream is closing or closed"));
  }
  if (stream.status === ERRORING) return request.reject(stream.storedError);
  stream.writeRequests.push(request);
  controller.write(chunk, size);
}

/** WritableStreamDefaultWriterCloseWithErrorPropagation */
function writerCloseWithErrorPropagation(stream) {
  if (closeQueuedOrInFlight(stream) || stream.status === CLOSED) return PromiseResolve(undefined);
  if (stream.status === ERRORED) return PromiseReject(stream.storedError);
  return writableClose(stream);
}

/** WritableStreamAbort */
function writableAbort(stream, reason) {
  if (stream.status === CLOSED || stream.status === ERRORED) return PromiseResolve(undefined);
  stream.controller.abortSignal(reason);
  // The signal has run code of the app, which may have changed the state.
  const status = stream.status;
  if (status === CLOSED || status === ERRORED) return PromiseResolve(undefined);
  if (stream.pendingAbort !== undefined) return stream.pendingAbort.promise;
  const wasAlreadyErroring = status === ERRORING;
  const { promise, resolve, reject } = PromiseWithResolvers();
  if (wasAlreadyErroring) reason = undefined;
  stream.pendingAbort = { __proto__: null, promise, resolve, reject, reason, wasAlreadyErroring };
  if (!wasAlreadyErroring) startErroring(stream, reason);
  return promise;
}

/** WritableStreamClose; the caller has made sure that no close is under way. */
function writableClose(stream) {
  if (stream.status === CLOSED || stream.status === ERRORED) {
    return PromiseReject(new TypeError("The stream is closed or errored"));
  }
  const resolvers = stream.closeRequest = PromiseWithResolvers();
  if (stream.writer !== undefined && stream.backpressure && stream.status === WRITABLE) stream.writer.ready.resolve();
  stream.controller.close();
  return resolvers.promise;
}

function hasOperationInFlight(stream) {
  return stream.inFlightWrite !== undefined || stream.inFlightClose !== undefined;
}

function startErroring(stream, reason) {
  stream.status = ERRORING;
  stream.storedError = reason;
  if (stream.writer !== undefined) stream.writer.ready.ensureRejected(reason);
  if (!hasOperationInFlight(stream) && stream.controller.started) finishErroring(stream);
}

function finishErroring(stream) {
  stream.status = ERRORED;
  stream.controller.queue.clear(); // [[ErrorSteps]]
  const error = stream.storedError;
  const requests = stream.writeRequests.takeAll();
  for (let request = requests.shift(); request !== undefined; request = requests.shift()) request.reject(error);
  const abort = stream.pendingAbort;
  if (abort === undefined) {
    rejectCloseAndClosed(stream);
    return;
  }
  stream.pendingAbort = undefined;
  if (abort.wasAlreadyErroring) {
    abort.reject(error);
    rejectCloseAndClosed(stream);
    return;
  }
  PromisePrototypeThen(
    stream.controller.abortSteps(abort.reason),
    () => {
      abort.resolve(undefined);
      rejectCloseAndClosed(stream);
    },
    (reason) => {
      abort.reject(reason);
      rejectCloseAndClosed(stream);
    },
  );
}

function rejectCloseAndClosed(stream) {
  if (stream.closeRequest !== undefined) {
    stream.closeRequest.reject(stream.storedError);
    stream.closeRequest = undefined;
  }
  if (stream.writer !== undefined) stream.writer.closed.reject(stream.storedError);
}

function dealWithRejection(stream, error) {
  if (stream.status === WRITABLE) startErroring(stream, error);
  else finishErroring(stream);
}

function finishInFlightClose(stream) {
  stream.inFlightClose.resolve(undefined);
  stream.inFlightClose = undefined;
  if (stream.status === ERRORING) {
    stream.storedError = undefined;
    if (stream.pendingAbort !== undefined) {
      stream.pendingAbort.resolve(undefined);
      stream.pendingAbort = undefined;
    }
  }
  stream.status = CLOSED;
  if (stream.writer !== undefined) stream.writer.closed.resolve();
}

function finishInFlightCloseWithError(stream, error) {
  stream.inFlightClose.reject(error);
  stream.inFlightClose = undefined;
  if (stream.pendingAbort !== undefined) {
    stream.pendingAbort.reject(error);
    stream.pendingAbort = undefined;
  }
  dealWithRejection(stream, error);
}

function updateBackpressure(stream, backpressure) {
  if (backpressure === stream.backpressure) return;
  if (stream.writer !== undefined) {
    if (backpressure) stream.writer.ready.renew();
    else stream.writer.ready.resolve();
  }
  stream.backpressure = backpressure;
}

module.exports = {
  WRITABLE, CLOSED, ERRORING, ERRORED, WritableState, Writer, WriteRequest, PromiseWriteRequest, closeQueuedOrInFlight,
  dealWithRejection, finishErroring, finishInFlightClose, finishInFlightCloseWithError, releaseWriter, startErroring,
  updateBackpressure, writableAbort, writableClose, writerCloseWithErrorPropagation, writerDesiredSize, writerWrite,
};
