// @ts-check
"use strict";
// The default controller and the default reader:
// https://streams.spec.whatwg.org/#rs-default-controller-class and #default-reader-class.
// Beyond the spec: `controller.signal`, aborted when the stream is cancelled.

const { FunctionPrototypeCall, PromiseReject, PromiseResolve, PromiseWithResolvers, TypeError } = require("primordials");
const webidl = require("webidl");
const { SizedQueue, checkSize } = require("streams/queue");
const { FULFILLED, isObject } = require("streams/promises");
const { sizeOf } = require("streams/strategies");
const {
  READABLE, ReadableState, ReadRequest, acquireDefaultReader, cancelSignal, defaultRead, readableCancel, readableClose,
  readableError, releaseReader,
} = require("streams/readable_core");
const { AppSource, Controller } = require("streams/controller");

class DefaultController extends Controller {
  isByte = false;
  queue = new SizedQueue();
  size;

  /** `size`: the strategy's function, undefined: 1. */
  constructor(stream, source, highWaterMark, size) {
    super(stream, source, highWaterMark);
    this.size = size;
  }

  getDesiredSize() {
    return this.desiredSize(this.queue.totalSize);
  }

  canCloseOrEnqueue() {
    return !this.closeRequested && this.stream.status === READABLE;
  }

  shouldPull() {
    const stream = this.stream;
    if (this.closeRequested || stream.status !== READABLE || !this.started) return false;
    const reader = stream.reader;
    if (reader !== undefined && reader.requests.length > 0) return true;
    return this.highWaterMark - this.queue.totalSize > 0;
  }

  clearAlgorithms() {
    this.source = this.size = undefined;
  }

  close() {
    if (!this.canCloseOrEnqueue()) return;
    this.closeRequested = true;
    if (this.queue.length === 0) {
      this.clearAlgorithms();
      readableClose(this.stream);
    }
  }

  enqueue(chunk) {
    if (this.closeRequested || this.stream.status !== READABLE) return;
    const reader = this.stream.reader;
    if (reader !== undefined && reader.requests.length > 0) {
      reader.requests.shift().chunkSteps(chunk);
    } else {
      let size = 1;
      if (this.size !== undefined) {
        try {
          size = sizeOf(this.size, chunk);
          checkSize(size);
        } catch (error) {
          this.error(error);
          throw error;
        }
      }
      this.queue.push(chunk, size);
    }
    this.callPullIfNeeded();
  }

  error(error) {
    if (this.stream.status !== READABLE) return;
    this.queue.clear();
    this.clearAlgorithms();
    readableError(this.stream, error);
  }

  cancelSteps(reason) {
    this.queue.clear();
    return this.cancelSource(reason);
  }

  pullSteps(request) {
    if (this.queue.length > 0) {
      const chunk = this.queue.shift();
      if (this.closeRequested && this.queue.length === 0) {
        this.clearAlgorithms();
        readableClose(this.stream);
      } else {
        this.callPullIfNeeded();
      }
      request.chunkSteps(chunk);
    } else {
      this.stream.reader.requests.push(request);
      this.callPullIfNeeded();
    }
  }

  releaseSteps() {}
}

/** CreateReadableStream, for an internal source: its state, for readable.js to wrap. `start`: a promise of ours. */
function createDefaultState(source, highWaterMark = 1, size = undefined, start = FULFILLED) {
  const state = new ReadableState();
  const controller = new DefaultController(state, source, highWaterMark, size);
  controller.react(start);
  return state;
}

/** SetUpReadableStreamDefaultControllerFromUnderlyingSource */
function setUpDefaultFromApp(state, object, dictionary, highWaterMark, size) {
  const source = new AppSource(object, dictionary);
  const controller = new DefaultController(state, source, highWaterMark, size);
  source.face = new ReadableStreamDefaultController(SECRET, controller);
  const { start } = dictionary;
  controller.waitForStart(start === undefined ? undefined : FunctionPrototypeCall(start, object, source.face));
}

/** What makes a constructor that apps cannot use usable here. */
const SECRET = { __proto__: null };

class ReadableStreamDefaultController {
  #controller;

  constructor(secret = undefined, controller = undefined) {
    if (secret !== SECRET) webidl.illegalConstructor();
    this.#controller = controller;
  }

  get desiredSize() {
    return this.#controller.getDesiredSize();
  }

  get signal() {
    return cancelSignal(this.#controller);
  }

  close() {
    if (!this.#controller.canCloseOrEnqueue()) throw new TypeError("The stream is not in a state that permits close");
    this.#controller.close();
  }

  enqueue(chunk = undefined) {
    const controller = this.#controller;
    if (controller.closeRequested || controller.stream.status !== READABLE) {
      const problem = controller.cancelled ? "was cancelled" : "is not in a state that permits enqueue";
      throw new TypeError(`The stream ${problem}`);
    }
    controller.enqueue(chunk);
  }

  error(e = undefined) {
    this.#controller.error(e);
  }
}
webidl.configureInterface(ReadableStreamDefaultController);

/** The read request behind a promise: read() of both readers. The promise is made last, when it may be settled already. */
class PromiseRequest extends ReadRequest {
  settled = false;
  failed = false;
  /** @type {any} */
  result = undefined;
  /** @type {any} */
  resolvers = undefined;

  chunkSteps(chunk) {
    this.settle({ value: chunk, done: false });
  }

  closeSteps(chunk) {
    this.settle({ value: chunk, done: true });
  }

  settle(result) {
    if (this.resolvers !== undefined) {
      this.resolvers.resolve(result);
    } else {
      this.settled = true;
      this.result = result;
    }
  }

  errorSteps(error) {
    if (this.resolvers !== undefined) {
      this.resolvers.reject(error);
    } else {
      this.settled = this.failed = true;
      this.result = error;
    }
  }

  toPromise() {
    if (!this.settled) return (this.resolvers = PromiseWithResolvers()).promise;
    return this.failed ? PromiseReject(this.result) : PromiseResolve(this.result);
  }
}

/** Brands that files further on own: readable.js says which state is behind a ReadableStream. */
const brands = { __proto__: null, convertReadable: /** @type {any} */ (undefined), stateOf: /** @type {any} */ (undefined) };

let wrapDefaultReader;

class ReadableStreamDefaultReader {
  #reader;

  constructor(stream) {
    if (stream === SECRET) {
      this.#reader = arguments[1];
      return;
    }
    const prefix = "Failed to construct 'ReadableStreamDefaultReader'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    this.#reader = acquireDefaultReader(brands.stateOf(brands.convertReadable(stream, prefix, "Argument 1")));
  }

  get closed() {
    if (!isObject(this) || !(#reader in this)) return PromiseReject(webidl.brandError());
    return this.#reader.closed.get();
  }

  cancel(reason = undefined) {
    if (!isObject(this) || !(#reader in this)) return PromiseReject(webidl.brandError());
    const stream = this.#reader.stream;
    if (stream === undefined) return PromiseReject(new TypeError("The reader was released"));
    return readableCancel(stream, reason);
  }

  read() {
    if (!isObject(this) || !(#reader in this)) return PromiseReject(webidl.brandError());
    const reader = this.#reader;
    if (reader.stream === undefined) return PromiseReject(new TypeError("The reader was released"));
    const request = new PromiseRequest();
    defaultRead(reader, request);
    return request.toPromise();
  }

  releaseLock() {
    if (this.#reader.stream !== undefined) releaseReader(this.#reader);
  }

  static {
    wrapDefaultReader = (reader) => new ReadableStreamDefaultReader(SECRET, reader);
  }
}
webidl.configureInterface(ReadableStreamDefaultReader);

module.exports = {
  DefaultController, PromiseRequest, ReadableStreamDefaultController, ReadableStreamDefaultReader, brands, createDefaultState,
  setUpDefaultFromApp, wrapDefaultReader,
};
