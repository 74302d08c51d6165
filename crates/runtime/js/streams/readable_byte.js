// @ts-check
"use strict";
// What apps see of byte streams: https://streams.spec.whatwg.org/#rbs-controller-class, #byob-reader-class and
// #rs-byob-request-class. Beyond the spec: `controller.signal`, as on the default controller.

const {
  ArrayBufferPrototypeGetByteLength, ArrayBufferPrototypeGetDetached, FunctionPrototypeCall, PromiseReject, RangeError,
  TypeError, TypedArrayPrototypeGetBuffer, TypedArrayPrototypeGetLength, Uint8Array,
} = require("primordials");
const webidl = require("webidl");
const { isObject } = require("streams/promises");
const { READABLE, acquireByobReader, byobRead, cancelSignal, readableCancel, releaseReader } = require("streams/readable_core");
const { AppSource } = require("streams/controller");
const { PromiseRequest, brands } = require("streams/readable_default");
const { ByteController } = require("streams/byte_controller");
const { bufferOf, byteLengthOf, isTyped } = require("streams/views");

const { converters } = webidl;

/** What makes a constructor that apps cannot use usable here. */
const SECRET = { __proto__: null };

/** What a ByteController knows of the ReadableStreamBYOBRequest that it has given out. */
class ByobRequestState {
  /** @type {any} */
  controller;
  /** @type {any} */
  view;
  /** @type {any} */
  face = undefined;

  constructor(controller, view) {
    this.controller = controller;
    this.view = view;
  }

  invalidate() {
    this.controller = undefined;
    this.view = null;
  }
}

/** ReadableByteStreamControllerGetBYOBRequest, without the object that an app would see; null: none. */
function byobRequestState(controller) {
  const first = controller.pendingPullIntos.head;
  if (controller.byobRequest === null && first !== undefined) {
    const view = new Uint8Array(first.buffer, first.byteOffset + first.bytesFilled, first.byteLength - first.bytesFilled);
    controller.byobRequest = new ByobRequestState(controller, view);
  }
  return controller.byobRequest;
}

class ReadableStreamBYOBRequest {
  #state;

  constructor(secret = undefined, state = undefined) {
    if (secret !== SECRET) webidl.illegalConstructor();
    this.#state = state;
  }

  get view() {
    return this.#state.view;
  }

  respond(bytesWritten) {
    const state = this.#state;
    const prefix = "Failed to execute 'respond' on 'ReadableStreamBYOBRequest'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    bytesWritten = converters["unsigned long long"](bytesWritten, prefix, "Argument 1", { __proto__: null, enforceRange: true });
    if (state.controller === undefined) throw new TypeError(`${prefix}: This request has been answered already`);
    if (ArrayBufferPrototypeGetDetached(TypedArrayPrototypeGetBuffer(state.view))) {
      throw new TypeError(`${prefix}: The buffer of the view is detached`);
    }
    state.controller.respond(bytesWritten);
  }

  respondWithNewView(view) {
    const state = this.#state;
    const prefix = "Failed to execute 'respondWithNewView' on 'ReadableStreamBYOBRequest'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    view = converters.ArrayBufferView(view, prefix, "Argument 1");
    if (state.controller === undefined) throw new TypeError(`${prefix}: This request has been answered already`);
    if (ArrayBufferPrototypeGetDetached(bufferOf(view))) throw new TypeError(`${prefix}: The buffer of the view is detached`);
    state.controller.respondWithNewView(view);
  }
}
webidl.configureInterface(ReadableStreamBYOBRequest);

class ReadableByteStreamController {
  #controller;

  constructor(secret = undefined, controller = undefined) {
    if (secret !== SECRET) webidl.illegalConstructor();
    this.#controller = controller;
  }

  get byobRequest() {
    const state = byobRequestState(this.#controller);
    if (state === null) return null;
    if (state.face === undefined) state.face = new ReadableStreamBYOBRequest(SECRET, state);
    return state.face;
  }

  get desiredSize() {
    return this.#controller.getDesiredSize();
  }

  get signal() {
    return cancelSignal(this.#controller);
  }

  close() {
    const controller = this.#controller;
    if (controller.closeRequested) throw new TypeError("The stream is being closed already");
    if (controller.stream.status !== READABLE) throw new TypeError("The stream is not in a state that permits close");
    controller.close();
  }

  enqueue(chunk) {
    const controller = this.#controller;
    const prefix = "Failed to execute 'enqueue' on 'ReadableByteStreamController'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    chunk = converters.ArrayBufferView(chunk, prefix, "Argument 1");
    if (byteLengthOf(chunk) === 0) throw new TypeError(`${prefix}: The chunk is empty`);
    if (ArrayBufferPrototypeGetByteLength(bufferOf(chunk)) === 0) throw new TypeError(`${prefix}: The chunk's buffer is empty`);
    if (controller.closeRequested) throw new TypeError(`${prefix}: The stream is being closed`);
    if (controller.stream.status !== READABLE) {
      const problem = controller.cancelled ? "was cancelled" : "is not in a state that permits enqueue";
      throw new TypeError(`${prefix}: The stream ${problem}`);
    }
    controller.enqueue(chunk);
  }

  error(e = undefined) {
    this.#controller.error(e);
  }
}
webidl.configureInterface(ReadableByteStreamController);

/** SetUpReadableByteStreamControllerFromUnderlyingSource */
function setUpByteFromApp(state, object, dictionary, highWaterMark) {
  if (dictionary.autoAllocateChunkSize === 0) throw new TypeError("autoAllocateChunkSize must be more than 0");
  const source = new AppSource(object, dictionary);
  const controller = new ByteController(state, source, highWaterMark, dictionary.autoAllocateChunkSize);
  source.face = new ReadableByteStreamController(SECRET, controller);
  const { start } = dictionary;
  controller.waitForStart(start === undefined ? undefined : FunctionPrototypeCall(start, object, source.face));
}

const convertReadOptions = webidl.createDictionaryConverter("ReadableStreamBYOBReaderReadOptions", [
  { key: "min", converter: converters["unsigned long long"], options: { __proto__: null, enforceRange: true }, defaultValue: 1 },
]);

let wrapByobReader;

class ReadableStreamBYOBReader {
  #reader;

  constructor(stream) {
    if (stream === SECRET) {
      this.#reader = arguments[1];
      return;
    }
    const prefix = "Failed to construct 'ReadableStreamBYOBReader'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    this.#reader = acquireByobReader(brands.stateOf(brands.convertReadable(stream, prefix, "Argument 1")));
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

  read(view, options = undefined) {
    try {
      const reader = this.#reader;
      const prefix = "Failed to execute 'read' on 'ReadableStreamBYOBReader'";
      webidl.requiredArguments(arguments.length, 1, prefix);
      view = converters.ArrayBufferView(view, prefix, "Argument 1");
      const { min } = convertReadOptions(options, prefix, "Argument 2");
      const byteLength = byteLengthOf(view);
      if (byteLength === 0) throw new TypeError(`${prefix}: The view is empty`);
      const buffer = bufferOf(view);
      if (ArrayBufferPrototypeGetByteLength(buffer) === 0) throw new TypeError(`${prefix}: The view's buffer is empty`);
      if (ArrayBufferPrototypeGetDetached(buffer)) throw new TypeError(`${prefix}: The view's buffer is detached`);
      if (min === 0) throw new TypeError(`${prefix}: min must be more than 0`);
      if (min > (isTyped(view) ? TypedArrayPrototypeGetLength(view) : byteLength)) {
        throw new RangeError(`${prefix}: min is more than the view has room for`);
      }
      if (reader.stream === undefined) throw new TypeError("The reader was released");
      const request = new PromiseRequest();
      byobRead(reader, view, min, request);
      return request.toPromise();
    } catch (error) {
      return PromiseReject(error);
    }
  }

  releaseLock() {
    if (this.#reader.stream !== undefined) releaseReader(this.#reader);
  }

  static {
    wrapByobReader = (reader) => new ReadableStreamBYOBReader(SECRET, reader);
  }
}
webidl.configureInterface(ReadableStreamBYOBReader);

module.exports = {
  ReadableByteStreamController, ReadableStreamBYOBReader, ReadableStreamBYOBRequest, byobRequestState, setUpByteFromApp,
  wrapByobReader,
};
