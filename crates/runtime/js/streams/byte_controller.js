// @ts-check
"use strict";
// The state machine of readable byte streams: https://streams.spec.whatwg.org/#rbs-controller-abstract-ops.
// The classes that apps see are in readable_byte.js.

const {
  ArrayBuffer, ArrayBufferPrototypeGetByteLength, ArrayBufferPrototypeGetDetached, ArrayBufferPrototypeTransfer, DataView,
  MathMin, RangeError, TypeError, TypedArrayPrototypeGetBuffer, TypedArrayPrototypeGetSymbolToStringTag,
  TypedArrayPrototypeSet, Uint8Array,
} = require("primordials");
const { LinkedList } = require("streams/queue");
const { READABLE, CLOSED, ReadableState, readableClose, readableError } = require("streams/readable_core");
const { Controller } = require("streams/controller");
const { bufferOf, byteLengthOf, byteOffsetOf, cloneBytes, constructors, elementSizes } = require("streams/views");

/** What is queued. */
class Entry {
  next = undefined;
  buffer;
  byteOffset;
  byteLength;

  constructor(buffer, byteOffset, byteLength) {
    this.buffer = buffer;
    this.byteOffset = byteOffset;
    this.byteLength = byteLength;
  }
}

const NONE = 0, DEFAULT = 1, BYOB = 2; // reader types

/** A pull-into descriptor. */
class PullInto {
  next = undefined;
  buffer;
  bufferByteLength;
  byteOffset;
  byteLength;
  bytesFilled = 0;
  minimumFill;
  elementSize;
  viewConstructor;
  readerType;

  constructor(buffer, byteOffset, byteLength, minimumFill, elementSize, viewConstructor, readerType) {
    this.buffer = buffer;
    this.bufferByteLength = ArrayBufferPrototypeGetByteLength(buffer);
    this.byteOffset = byteOffset;
    this.byteLength = byteLength;
    this.minimumFill = minimumFill;
    this.elementSize = elementSize;
    this.viewConstructor = viewConstructor;
    this.readerType = readerType;
  }

  /** ReadableByteStreamControllerConvertPullIntoDescriptor */
  toView() {
    const Constructor = this.viewConstructor;
    return new Constructor(ArrayBufferPrototypeTransfer(this.buffer), this.byteOffset, this.bytesFilled / this.elementSize);
  }
}

class ByteController extends Controller {
  isByte = true;
  queue = new LinkedList();
  queueTotalSize = 0;
  autoAllocateChunkSize;
  pendingPullIntos = new LinkedList();
  /** @type {any} the ReadableStreamBYOBRequest that an app holds, if any */
  byobRequest = null;

  constructor(stream, source, highWaterMark, autoAllocateChunkSize) {
    super(stream, source, highWaterMark);
    this.autoAllocateChunkSize = autoAllocateChunkSize;
  }

  getDesiredSize() {
    return this.desiredSize(this.queueTotalSize);
  }

  shouldPull() {
    const stream = this.stream;
    if (stream.status !== READABLE || this.closeRequested || !this.started) return false;
    const reader = stream.reader;
    if (reader !== undefined && reader.requests.length > 0) return true;
    return this.highWaterMark - this.queueTotalSize > 0;
  }

  resetQueue() {
    this.queue.clear();
    this.queueTotalSize = 0;
  }

  invalidateByobRequest() {
    if (this.byobRequest === null) return;
    this.byobRequest.invalidate();
    this.byobRequest = null;
  }

  clearPendingPullIntos() {
    this.invalidateByobRequest();
    this.pendingPullIntos.clear();
  }

  cancelSteps(reason) {
    this.clearPendingPullIntos();
    this.resetQueue();
    return this.cancelSource(reason);
  }

  pullSteps(request) {
    if (this.queueTotalSize > 0) {
      this.fillReadRequestFromQueue(request);
      return;
    }
    const size = this.autoAllocateChunkSize;
    if (size !== undefined) {
      let buffer;
      try {
        buffer = new ArrayBuffer(size);
      } catch (error) {
        request.errorSteps(error);
        return;
      }
      this.pendingPullIntos.push(new PullInto(buffer, 0, size, 1, 1, Uint8Array, DEFAULT));
    }
    this.stream.reader.requests.push(request);
    this.callPullIfNeeded();
  }

  releaseSteps() {
    const first = this.pendingPullIntos.head;
    if (first === undefined) return;
    first.readerType = NONE;
    first.next = undefined;
    this.pendingPullIntos.clear();
    this.pendingPullIntos.push(first);
  }

  close() {
    const stream = this.stream;
    if (this.closeRequested || stream.status !== READABLE) return;
    if (this.queueTotalSize > 0) {
      this.closeRequested = true;
      return;
    }
    const first = this.pendingPullIntos.head;
    if (first !== undefined && first.bytesFilled % first.elementSize !== 0) {
      const error = new TypeError("The stream was closed in the middle of an element");
      this.error(error);
      throw error;
    }
    this.clearAlgorithms();
    readableClose(stream);
  }

  error(error) {
    if (this.stream.status !== READABLE) return;
    this.clearPendingPullIntos();
    this.resetQueue();
    this.clearAlgorithms();
    readableError(this.stream, error);
  }

  /** ReadableByteStreamControllerEnqueue */
  enqueue(view) {
    if (this.closeRequested || this.stream.status !== READABLE) return;
    const buffer = bufferOf(view);
    const byteOffset = byteOffsetOf(view);
    const byteLength = byteLengthOf(view);
    if (ArrayBufferPrototypeGetDetached(buffer)) throw new TypeError("The chunk's buffer is detached");
    this.enqueueOwned(ArrayBufferPrototypeTransfer(buffer), byteOffset, byteLength);
  }

  /** The same for a buffer without other references, which need not be transferred. */
  enqueueOwned(buffer, byteOffset, byteLength) {
    const stream = this.stream;
    if (this.closeRequested || stream.status !== READABLE) return;
    const first = this.pendingPullIntos.head;
    if (first !== undefined) {
      if (ArrayBufferPrototypeGetDetached(first.buffer)) {
        throw new TypeError("The buffer of the BYOB request is detached, so the request cannot be answered");
      }
      this.invalidateByobRequest();
      first.buffer = ArrayBufferPrototypeTransfer(first.buffer);
      if (first.readerType === NONE) this.enqueueDetachedPullInto(first);
    }
    const reader = stream.reader;
    if (reader === undefined) {
      this.enqueueChunk(buffer, byteOffset, byteLength);
    } else if (reader.isByob) {
      this.enqueueChunk(buffer, byteOffset, byteLength);
      this.commitAll(this.processPullIntosUsingQueue());
    } else {
      while (reader.requests.length > 0 && this.queueTotalSize > 0) this.fillReadRequestFromQueue(reader.requests.shift());
      if (reader.requests.length === 0) {
        this.enqueueChunk(buffer, byteOffset, byteLength);
      } else {
        if (this.pendingPullIntos.length > 0) this.pendingPullIntos.shift();
        reader.requests.shift().chunkSteps(new Uint8Array(buffer, byteOffset, byteLength));
      }
    }
    this.callPullIfNeeded();
  }

  enqueueChunk(buffer, byteOffset, byteLength) {
    this.queue.push(new Entry(buffer, byteOffset, byteLength));
    this.queueTotalSize += byteLength;
  }

  enqueueClonedChunk(buffer, byteOffset, byteLength) {
    let clone;
    try {
      clone = cloneBytes(buffer, byteOffset, byteLength);
    } catch (error) {
      this.error(error);
      throw error;
    }
    this.enqueueChunk(TypedArrayPrototypeGetBuffer(clone), 0, byteLength);
  }

  enqueueDetachedPullInto(descriptor) {
    if (descriptor.bytesFilled > 0) {
      this.enqueueClonedChunk(descriptor.buffer, descriptor.byteOffset, descriptor.bytesFilled);
    }
    this.pendingPullIntos.shift();
  }

  /** Copies what is queued into the descriptor; true when that is enough for it. */
  fillFromQueue(descriptor) {
    const maxBytesToCopy = MathMin(this.queueTotalSize, descriptor.byteLength - descriptor.bytesFilled);
    const maxBytesFilled = descriptor.bytesFilled + maxBytesToCopy;
    const maxAlignedBytes = maxBytesFilled - (maxBytesFilled % descriptor.elementSize);
    const ready = maxAlignedBytes >= descriptor.minimumFill;
    let remaining = ready ? maxAlignedBytes - descriptor.bytesFilled : maxBytesToCopy;
    while (remaining > 0) {
      const head = this.queue.head;
      const count = MathMin(remaining, head.byteLength);
      const from = new Uint8Array(head.buffer, head.byteOffset, count);
      const to = new Uint8Array(descriptor.buffer, descriptor.byteOffset + descriptor.bytesFilled, count);
      TypedArrayPrototypeSet(to, from);
      if (head.byteLength === count) {
        this.queue.shift();
      } else {
        head.byteOffset += count;
        head.byteLength -= count;
      }
      this.queueTotalSize -= count;
      descriptor.bytesFilled += count;
      remaining -= count;
    }
    return ready;
  }

  fillReadRequestFromQueue(request) {
    const entry = this.queue.shift();
    this.queueTotalSize -= entry.byteLength;
    this.handleQueueDrain();
    request.chunkSteps(new Uint8Array(entry.buffer, entry.byteOffset, entry.byteLength));
  }

  handleQueueDrain() {
    if (this.queueTotalSize === 0 && this.closeRequested) {
      this.clearAlgorithms();
      readableClose(this.stream);
    } else {
      this.callPullIfNeeded();
    }
  }

  /** The descriptors that what is queued fills, as a list; they are out of pendingPullIntos then. */
  processPullIntosUsingQueue() {
    const filled = new LinkedList();
    while (this.pendingPullIntos.length > 0 && this.queueTotalSize > 0) {
      if (this.fillFromQueue(this.pendingPullIntos.head)) filled.push(this.pendingPullIntos.shift());
    }
    return filled;
  }

  commit(descriptor) {
    const stream = this.stream;
    const view = descriptor.toView();
    const request = stream.reader.requests.shift();
    if (stream.status === CLOSED) request.closeSteps(descriptor.readerType === DEFAULT ? undefined : view);
    else request.chunkSteps(view);
  }

  commitAll(descriptors) {
    for (let one = descriptors.shift(); one !== undefined; one = descriptors.shift()) this.commit(one);
  }

  pullInto(view, min, request) {
    const stream = this.stream;
    const name = TypedArrayPrototypeGetSymbolToStringTag(view);
    const elementSize = name === undefined ? 1 : elementSizes[name];
    const Constructor = name === undefined ? DataView : constructors[name];
    const byteOffset = byteOffsetOf(view);
    const byteLength = byteLengthOf(view);
    let buffer;
    try {
      buffer = ArrayBufferPrototypeTransfer(bufferOf(view));
    } catch (error) {
      request.errorSteps(error);
      return;
    }
    const descriptor = new PullInto(buffer, byteOffset, byteLength, min * elementSize, elementSize, Constructor, BYOB);
    if (this.pendingPullIntos.length > 0) {
      this.pendingPullIntos.push(descriptor);
      stream.reader.requests.push(request);
      return;
    }
    if (stream.status === CLOSED) {
      request.closeSteps(new Constructor(buffer, byteOffset, 0));
      return;
    }
    if (this.queueTotalSize > 0) {
      if (this.fillFromQueue(descriptor)) {
        const filled = descriptor.toView();
        this.handleQueueDrain();
        request.chunkSteps(filled);
        return;
      }
      if (this.closeRequested) {
        const error = new TypeError("The stream was closed in the middle of an element");
        this.error(error);
        request.errorSteps(error);
        return;
      }
    }
    this.pendingPullIntos.push(descriptor);
    stream.reader.requests.push(request);
    this.callPullIfNeeded();
  }

  respond(bytesWritten) {
    const first = this.pendingPullIntos.head;
    if (this.stream.status === CLOSED) {
      if (bytesWritten !== 0) throw new TypeError("bytesWritten must be 0 when the stream is closed");
    } else {
      if (bytesWritten === 0) throw new TypeError("bytesWritten must be more than 0 unless the stream is closed");
      if (first.bytesFilled + bytesWritten > first.byteLength) throw new RangeError("bytesWritten is out of range");
    }
    first.buffer = ArrayBufferPrototypeTransfer(first.buffer);
    this.respondInternal(bytesWritten);
  }

  respondWithNewView(view) {
    const first = this.pendingPullIntos.head;
    const byteLength = byteLengthOf(view);
    const buffer = bufferOf(view);
    if (this.stream.status === CLOSED) {
      if (byteLength !== 0) throw new TypeError("The view must be empty when the stream is closed");
    } else if (byteLength === 0) {
      throw new TypeError("The view must not be empty unless the stream is closed");
    }
    if (first.byteOffset + first.bytesFilled !== byteOffsetOf(view)) {
      throw new RangeError("The view has another offset than the BYOB request");
    }
    if (first.bufferByteLength !== ArrayBufferPrototypeGetByteLength(buffer)) {
      throw new RangeError("The view's buffer has another length than that of the BYOB request");
    }
    if (first.bytesFilled + byteLength > first.byteLength) throw new RangeError("The view is too long for the BYOB request");
    first.buffer = ArrayBufferPrototypeTransfer(buffer);
    this.respondInternal(byteLength);
  }

  respondInternal(bytesWritten) {
    const first = this.pendingPullIntos.head;
    this.invalidateByobRequest();
    if (this.stream.status === CLOSED) this.respondInClosedState(first);
    else this.respondInReadableState(bytesWritten, first);
    this.callPullIfNeeded();
  }

  respondInClosedState(first) {
    if (first.readerType === NONE) this.pendingPullIntos.shift();
    const reader = this.stream.reader;
    if (reader === undefined || !reader.isByob) return;
    const filled = new LinkedList();
    while (filled.length < reader.requests.length) filled.push(this.pendingPullIntos.shift());
    this.commitAll(filled);
  }

  respondInReadableState(bytesWritten, descriptor) {
    descriptor.bytesFilled += bytesWritten;
    if (descriptor.readerType === NONE) {
      this.enqueueDetachedPullInto(descriptor);
      this.commitAll(this.processPullIntosUsingQueue());
      return;
    }
    if (descriptor.bytesFilled < descriptor.minimumFill) return; // stays at the head, for the source to fill further
    this.pendingPullIntos.shift();
    const remainder = descriptor.bytesFilled % descriptor.elementSize;
    if (remainder > 0) {
      const end = descriptor.byteOffset + descriptor.bytesFilled;
      this.enqueueClonedChunk(descriptor.buffer, end - remainder, remainder);
    }
    descriptor.bytesFilled -= remainder;
    const filled = this.processPullIntosUsingQueue();
    this.commit(descriptor);
    this.commitAll(filled);
  }
}

/** CreateReadableByteStream, for an internal source: its state, for readable.js to wrap. */
function createByteState(source, highWaterMark = 0) {
  const state = new ReadableState();
  new ByteController(state, source, highWaterMark, undefined).waitForStart(undefined);
  return state;
}

module.exports = { ByteController, createByteState };
