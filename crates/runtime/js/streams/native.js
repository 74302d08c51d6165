// @ts-check
"use strict";
// Streams and the native side: readable streams over native bodies, and the pump from a readable stream into a native
// pipe, which is how the body of a response leaves the isolate. Adds to the ops of src/ops/body.rs; no standard has this,
// except for what it takes over from https://streams.spec.whatwg.org/#other-specs-rs.
//
// The pump and readAllBytes read without a promise for each chunk, and pull eagerly: the pull() of a source that returns no
// promise is called again at once while the pipe takes more, where the spec would wait for a microtask in between.

const {
  ArrayBufferPrototypeGetByteLength, ArrayBufferPrototypeTransfer, ArrayPrototypePush, MathMax, PromisePrototypeThen, PromiseReject,
  PromiseResolve, PromiseWithResolvers, TypeError, TypedArrayPrototypeGetBuffer, TypedArrayPrototypeGetByteLength,
  SafeMap, TypedArrayPrototypeGetByteOffset, TypedArrayPrototypeGetSymbolToStringTag, TypedArrayPrototypeSet, Uint8Array,
  markPromiseAsHandled,
} = require("primordials");
const { currentRequest } = require("request_scope");
const { DOMException } = require("dom/exception");
const {
  READABLE, CLOSED, ERRORED, ReadableState, ReadRequest, Reader, acquireDefaultReader, defaultRead, readableCancel,
} = require("streams/readable_core");
const { Source } = require("streams/controller");
const { ByteController } = require("streams/byte_controller");
const { isReadableStream, stateOfReadable, teeReadable, wrapReadable } = require("streams/readable");
const { isObject } = require("streams/promises");
const {
  op_body_bytes, op_body_cancel, op_body_read, op_pipe_close, op_pipe_fail, op_pipe_ready, op_pipe_write,
} = require("ops");

// ---- Native bodies as streams

/** A byte stream whose source needs no start; nothing is pulled before the first read. */
function byteStream(source) {
  const state = new ReadableState();
  new ByteController(state, source, 0, undefined).startNow();
  return state;
}

/** Ends a byte stream, also when a BYOB read is waiting. */
function closeByteController(controller) {
  controller.close();
  if (controller.pendingPullIntos.length > 0 && controller.stream.status === CLOSED) controller.respond(0);
}

class NativeSource extends Source {
  body;
  /** @type {any} */
  onChunk = undefined;

  constructor(body) {
    super();
    this.body = body;
  }

  pull(controller) {
    if (this.onChunk === undefined) {
      this.onChunk = (chunk) => {
        if (controller.stream.status !== READABLE) return;
        if (chunk === undefined) {
          closeByteController(controller);
          return;
        }
        const byteLength = TypedArrayPrototypeGetByteLength(chunk);
        // Nothing arrived yet: ask again. (The controller does not, since it has been given nothing.)
        if (byteLength === 0) return this.pull(controller);
        controller.enqueueOwned(TypedArrayPrototypeGetBuffer(chunk), TypedArrayPrototypeGetByteOffset(chunk), byteLength);
      };
    }
    return PromisePrototypeThen(op_body_read(this.body), this.onChunk);
  }

  cancel() {
    op_body_cancel(this.body);
  }
}

/** A ReadableStream (type bytes) over a native body. Nothing is read before a reader asks. */
function createNativeReadable(bodyId) {
  const state = byteStream(new NativeSource(bodyId));
  state.nativeBody = bodyId;
  return wrapReadable(state);
}

/** The native body of an unused state, which is used up then. 0: none. */
function takeNativeState(state) {
  const body = state.nativeBody;
  if (body === 0 || state.disturbed || state.reader !== undefined || state.status !== READABLE) return 0;
  state.disturbed = true;
  state.controller.clearAlgorithms();
  state.status = CLOSED;
  new Reader(state, false); // locked for good
  return body;
}

/**
 * The native body behind a stream of createNativeReadable that is neither locked, disturbed, closed nor errored; the stream
 * is locked, disturbed and closed then, as if it had been read to its end. 0 for every other stream.
 */
function takeNative(stream) {
  return takeNativeState(stateOfReadable(stream));
}

class BytesSource extends Source {
  bytes;

  constructor(bytes) {
    super();
    this.bytes = bytes;
  }

  pull(controller) {
    const { bytes } = this;
    this.bytes = undefined;
    const byteLength = TypedArrayPrototypeGetByteLength(bytes);
    // A copy, since the reader may do with it what it likes, and `bytes` may be behind another stream too.
    if (byteLength > 0) controller.enqueueOwned(TypedArrayPrototypeGetBuffer(new Uint8Array(bytes)), 0, byteLength);
    closeByteController(controller);
  }
}

/** A ReadableStream (type bytes) of one chunk, a copy of `bytes` that is made when a reader asks. */
function streamFromBytes(bytes) {
  return wrapReadable(byteStream(new BytesSource(bytes)));
}

// ---- The pump

/** What went wrong, in words: for the log of the native side. Runs getters of the app, if it made the error. */
function describeError(error) {
  try {
    if (isObject(error)) return `${error.name}: ${error.message}`;
    return `${error}`;
  } catch {
    return "Error";
  }
}

function isBytes(chunk) {
  return TypedArrayPrototypeGetSymbolToStringTag(chunk) === "Uint8Array";
}

/** Pumps that are under way, by the request that they belong to. */
const pumps = new SafeMap();

/** A request's client is gone: its pumps stop now, not when they next have something to write. */
function stopPumps(request) {
  const list = pumps.get(request);
  if (list === undefined) return;
  pumps.delete(request);
  for (let i = 0; i < list.length; i++) if (!list[i].done) list[i].gone();
}

/** Also the read request, one for all chunks. */
class Pump extends ReadRequest {
  state;
  reader;
  pipe;
  resolvers = PromiseWithResolvers();
  /** The request is with the stream: nothing is to be done before a chunk comes. */
  waiting = false;
  /** run() is on the stack and goes on by itself. */
  running = false;
  /** The pipe is full. */
  full = false;
  done = false;
  /** @type {any} */
  onReady = undefined;

  constructor(state, pipe) {
    super();
    this.state = state;
    this.pipe = pipe;
    this.reader = acquireDefaultReader(state);
    state.controller.eager = true;
  }

  run() {
    if (this.running) return;
    this.running = true;
    while (!this.waiting && !this.full && !this.done) {
      this.waiting = true;
      defaultRead(this.reader, this);
    }
    this.running = false;
  }

  chunkSteps(chunk) {
    this.waiting = false;
    if (this.done) return;
    if (!isBytes(chunk)) {
      this.refuse(new TypeError("A chunk of a body must be a Uint8Array"));
      return;
    }
    if (TypedArrayPrototypeGetByteLength(chunk) > 0) {
      const room = op_pipe_write(this.pipe, chunk);
      if (room !== 1) {
        if (room === 0) this.waitForRoom();
        else this.gone();
        return;
      }
    }
    if (!this.running) this.run();
  }

  closeSteps() {
    this.waiting = false;
    if (this.done) return;
    this.done = true;
    op_pipe_close(this.pipe);
    this.resolvers.resolve(true);
  }

  errorSteps(error) {
    this.waiting = false;
    if (this.done) return;
    this.done = true;
    op_pipe_fail(this.pipe, describeError(error));
    this.reject(error);
  }

  waitForRoom() {
    this.full = true;
    if (this.onReady === undefined) {
      this.onReady = (room) => {
        this.full = false;
        if (this.done) return;
        if (room) this.run();
        else this.gone();
      };
    }
    PromisePrototypeThen(op_pipe_ready(this.pipe), this.onReady, () => this.onReady(false));
    // A source that fails while nothing is asked of it is noticed by the next read, when there is room again.
  }

  /** The reader is gone. */
  gone() {
    this.done = true;
    this.cancel(new DOMException("This body is not read any more", "AbortError"));
    this.resolvers.resolve(false);
  }

  /** The app has given us something that cannot be sent. */
  refuse(error) {
    this.done = true;
    op_pipe_fail(this.pipe, describeError(error));
    this.cancel(error);
    this.reject(error);
  }

  cancel(reason) {
    markPromiseAsHandled(readableCancel(this.state, reason));
  }

  reject(error) {
    markPromiseAsHandled(this.resolvers.promise);
    this.resolvers.reject(error);
  }
}

/**
 * Locks the stream and writes its chunks, which must be Uint8Arrays, to a native pipe. The promise is fulfilled with true
 * when all is written, with false when the pipe has no reader any more (the stream is cancelled then), and rejected with the
 * error of the stream; a rejection counts as handled. Throws when the stream is locked.
 */
function pumpToPipe(stream, pipeId) {
  const pump = new Pump(stateOfReadable(stream), pipeId);
  pump.run();
  if (!pump.done) {
    const request = currentRequest();
    const list = pumps.get(request);
    if (list === undefined) pumps.set(request, [pump]);
    else ArrayPrototypePush(list, pump);
  }
  return pump.resolvers.promise;
}

// ---- All of a stream at once

/** Collects the bytes of a stream; also the read request, one for all chunks. */
class Collector extends ReadRequest {
  state;
  reader;
  resolvers = PromiseWithResolvers();
  waiting = false;
  running = false;
  done = false;
  length = 0;
  /** @type {any} a Uint8Array with `length` bytes in use */
  buffer = undefined;
  convert;

  constructor(state, convert) {
    super();
    this.state = state;
    this.convert = convert;
    this.reader = acquireDefaultReader(state);
    state.controller.eager = true;
  }

  run() {
    if (this.running) return;
    this.running = true;
    while (!this.waiting && !this.done) {
      this.waiting = true;
      defaultRead(this.reader, this);
    }
    this.running = false;
  }

  chunkSteps(chunk) {
    this.waiting = false;
    if (this.done) return;
    if (!isBytes(chunk)) {
      this.errorSteps(new TypeError("A chunk of a body must be a Uint8Array"));
      return;
    }
    this.append(chunk);
    if (!this.running) this.run();
  }

  append(chunk) {
    const length = this.length + TypedArrayPrototypeGetByteLength(chunk);
    if (this.buffer === undefined && this.state.controller.isByte) {
      this.buffer = chunk; // no other code has it
    } else {
      if (this.buffer === undefined) {
        this.buffer = new Uint8Array(length);
      } else if (length > TypedArrayPrototypeGetByteLength(this.buffer)) {
        const larger = new Uint8Array(MathMax(length, 2 * TypedArrayPrototypeGetByteLength(this.buffer)));
        TypedArrayPrototypeSet(larger, this.buffer);
        this.buffer = larger;
      }
      TypedArrayPrototypeSet(this.buffer, chunk, this.length);
    }
    this.length = length;
  }

  closeSteps() {
    this.waiting = false;
    if (this.done) return;
    this.done = true;
    let { buffer } = this;
    if (buffer === undefined) {
      buffer = new Uint8Array(0);
    } else if (TypedArrayPrototypeGetByteLength(buffer) !== this.length) {
      buffer = new Uint8Array(ArrayBufferPrototypeTransfer(TypedArrayPrototypeGetBuffer(buffer), this.length));
    } else if (ArrayBufferPrototypeGetByteLength(TypedArrayPrototypeGetBuffer(buffer)) !== this.length) {
      buffer = new Uint8Array(buffer); // a part of a chunk's buffer
    }
    this.resolvers.resolve(this.convert === undefined ? buffer : this.convert(buffer));
  }

  errorSteps(error) {
    this.waiting = false;
    if (this.done) return;
    this.done = true;
    this.resolvers.reject(error);
  }
}

/**
 * What is left of a stream, as a promise of a Uint8Array without other references, which is all of its buffer. Rejects when
 * the stream is locked. With `convert` it is a promise of what that makes of the bytes, so that of a string no app is asked
 * for a `then`.
 */
function readAllBytes(stream, convert = undefined) {
  const state = stateOfReadable(stream);
  const body = takeNativeState(state);
  if (body !== 0) {
    const bytes = PromiseResolve(op_body_bytes(body));
    return convert === undefined ? bytes : PromisePrototypeThen(bytes, convert);
  }
  if (state.reader !== undefined) return PromiseReject(new TypeError("The stream is locked to a reader already"));
  const collector = new Collector(state, convert);
  collector.run();
  return collector.resolvers.promise;
}

// ---- For fetch

function isLocked(stream) {
  return stateOfReadable(stream).reader !== undefined;
}

function isDisturbed(stream) {
  return stateOfReadable(stream).disturbed;
}

function isErrored(stream) {
  return stateOfReadable(stream).status === ERRORED;
}

function isClosed(stream) {
  return stateOfReadable(stream).status === CLOSED;
}

/** The branches, [first, second], with chunks of their own. Throws when it is locked. */
function teeForClone(stream) {
  return teeReadable(stateOfReadable(stream), true);
}

/** Cancels, also when it is locked; the promise is that of the source's cancel(). */
function cancelStream(stream, reason) {
  return readableCancel(stateOfReadable(stream), reason);
}

/** Ends a stream of createNativeReadable or streamFromBytes after what is queued. */
function closeStream(stream) {
  const { controller, status } = stateOfReadable(stream);
  if (status !== READABLE) return;
  if (controller.isByte) closeByteController(controller);
  else controller.close();
}

/** Errors a stream, unless it is closed or errored already. */
function errorStream(stream, error) {
  stateOfReadable(stream).controller.error(error);
}

module.exports = {
  createNativeReadable, takeNative, streamFromBytes, pumpToPipe, stopPumps, readAllBytes, isReadableStream, isLocked, isDisturbed,
  isErrored, isClosed, teeForClone, cancelStream, closeStream, errorStream,
};
