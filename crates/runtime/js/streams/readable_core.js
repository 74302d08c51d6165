// @ts-check
"use strict";
// The state of readable streams and of their readers, without anything that an app sees:
// https://streams.spec.whatwg.org/#rs-abstract-ops-used-by-controllers and #rs-reader-abstract-ops.
//
// ReadableStream, the readers and the controllers that apps hold are shells around the objects of this file and of
// readable_default.js and byte_controller.js; internal consumers (pipes, the native pump) use these without any shell.

const { PromisePrototypeThen, PromiseReject, PromiseResolve, TypeError } = require("primordials");
const { createSignal, signalAbort } = require("dom/abort");
const { LinkedList } = require("streams/queue");
const { LazyPromise } = require("streams/promises");

const READABLE = 0, CLOSED = 1, ERRORED = 2;

class ReadableState {
  status = READABLE;
  disturbed = false;
  /** @type {Reader | undefined} */
  reader = undefined;
  /** @type {any} DefaultController or ByteController: pullSteps, cancelSteps, releaseSteps */
  controller = undefined;
  /** @type {any} */
  storedError = undefined;
  /** The native body that this stream stands for, see native.js. 0: none. */
  nativeBody = 0;
}

/** A read request or read-into request: what is to happen with the next chunk. Reusable when it is done. */
class ReadRequest {
  /** @type {ReadRequest | undefined} */
  next = undefined;
  chunkSteps(_chunk) {}
  /** A read-into request gets an empty view, or undefined when the stream was cancelled. */
  closeSteps(_chunk) {}
  errorSteps(_error) {}
}

class Reader {
  /** @type {ReadableState | undefined} */
  stream;
  isByob;
  requests = new LinkedList();
  closed = new LazyPromise();

  /** SetUpReadableStreamDefaultReader, SetUpReadableStreamBYOBReader; the caller has checked what those check. */
  constructor(stream, isByob) {
    this.stream = stream;
    this.isByob = isByob;
    stream.reader = this;
    if (stream.status === CLOSED) this.closed.resolve();
    else if (stream.status === ERRORED) this.closed.reject(stream.storedError);
  }
}

/** AcquireReadableStreamDefaultReader */
function acquireDefaultReader(stream) {
  if (stream.reader !== undefined) throw new TypeError("The stream is locked to a reader already");
  return new Reader(stream, false);
}

/** AcquireReadableStreamBYOBReader */
function acquireByobReader(stream) {
  if (stream.reader !== undefined) throw new TypeError("The stream is locked to a reader already");
  if (!stream.controller.isByte) throw new TypeError("A BYOB reader needs a stream of type 'bytes'");
  return new Reader(stream, true);
}

/** Read(Into)Requests' error steps, all of them. */
function errorRequests(reader, error) {
  if (reader.requests.length === 0) return;
  const requests = reader.requests.takeAll();
  for (let request = requests.shift(); request !== undefined; request = requests.shift()) request.errorSteps(error);
}

function closeRequests(reader) {
  if (reader.requests.length === 0) return;
  const requests = reader.requests.takeAll();
  for (let request = requests.shift(); request !== undefined; request = requests.shift()) request.closeSteps(undefined);
}

/** ReadableStreamDefaultReaderRelease, ReadableStreamBYOBReaderRelease */
function releaseReader(reader) {
  const stream = reader.stream;
  reader.closed.ensureRejected(new TypeError("The reader was released"));
  stream.controller.releaseSteps();
  stream.reader = undefined;
  reader.stream = undefined;
  if (reader.requests.length > 0) errorRequests(reader, new TypeError("The reader was released"));
}

/** ReadableStreamDefaultReaderRead */
function defaultRead(reader, request) {
  const stream = reader.stream;
  stream.disturbed = true;
  if (stream.status === READABLE) stream.controller.pullSteps(request);
  else if (stream.status === CLOSED) request.closeSteps(undefined);
  else request.errorSteps(stream.storedError);
}

/** ReadableStreamBYOBReaderRead */
function byobRead(reader, view, min, request) {
  const stream = reader.stream;
  stream.disturbed = true;
  if (stream.status === ERRORED) request.errorSteps(stream.storedError);
  else stream.controller.pullInto(view, min, request);
}

/** ReadableStreamClose */
function readableClose(stream) {
  stream.status = CLOSED;
  const reader = stream.reader;
  if (reader === undefined) return;
  reader.closed.resolve();
  if (!reader.isByob) closeRequests(reader);
}

/** ReadableStreamError */
function readableError(stream, error) {
  stream.status = ERRORED;
  stream.storedError = error;
  const reader = stream.reader;
  if (reader === undefined) return;
  reader.closed.reject(error);
  errorRequests(reader, error);
}

function toUndefined() {}

/** ReadableStreamCancel; the promise is a fresh one that may be handed to an app. */
function readableCancel(stream, reason) {
  stream.disturbed = true;
  if (stream.status === CLOSED) return PromiseResolve(undefined);
  if (stream.status === ERRORED) return PromiseReject(stream.storedError);
  readableClose(stream);
  const reader = stream.reader;
  if (reader !== undefined && reader.isByob) closeRequests(reader);
  return PromisePrototypeThen(stream.controller.cancelSteps(reason), toUndefined);
}

// `controller.signal`, which is not in the spec: an AbortSignal that aborts when the stream is cancelled; made when first
// asked for. Controllers have the fields `signal`, `cancelled` and `cancelReason` for it.

function cancelSignal(controller) {
  if (controller.signal === undefined) {
    controller.signal = createSignal();
    if (controller.cancelled) signalAbort(controller.signal, controller.cancelReason);
  }
  return controller.signal;
}

function abortCancelSignal(controller, reason) {
  controller.cancelled = true;
  controller.cancelReason = reason;
  if (controller.signal !== undefined) signalAbort(controller.signal, reason);
}

module.exports = {
  READABLE, CLOSED, ERRORED, ReadableState, ReadRequest, Reader, acquireDefaultReader, acquireByobReader, releaseReader,
  defaultRead, byobRead, readableClose, readableError, readableCancel, cancelSignal, abortCancelSignal,
};
