// @ts-check
"use strict";
// WritableStream, its writer and its controller: https://streams.spec.whatwg.org/#ws.
// Deviation: not transferable.

const { FunctionPrototypeCall, PromiseReject, RangeError, TypeError } = require("primordials");
const webidl = require("webidl");
const { isObject, newPromiseOf } = require("streams/promises");
const { convertStrategy, highWaterMarkOf } = require("streams/strategies");
const {
  PromiseWriteRequest, WRITABLE, WritableState, Writer, closeQueuedOrInFlight, releaseWriter, writableAbort, writableClose,
  writerDesiredSize, writerWrite,
} = require("streams/writable_core");
const { Sink, WritableController } = require("streams/writable_controller");

const { converters } = webidl;

/** What makes a constructor that apps cannot use usable here. */
const SECRET = { __proto__: null };

const convertUnderlyingSink = webidl.createDictionaryConverter("UnderlyingSink", [
  { key: "abort", converter: webidl.createCallbackConverter("UnderlyingSinkAbortCallback") },
  { key: "close", converter: webidl.createCallbackConverter("UnderlyingSinkCloseCallback") },
  { key: "start", converter: webidl.createCallbackConverter("UnderlyingSinkStartCallback") },
  { key: "type", converter: converters.any },
  { key: "write", converter: webidl.createCallbackConverter("UnderlyingSinkWriteCallback") },
]);

/** The underlying sink of an app: its callbacks, and the controller that they are given. */
class AppSink extends Sink {
  object;
  dictionary;
  /** @type {any} */
  face = undefined;

  constructor(object, dictionary) {
    super();
    this.object = object;
    this.dictionary = dictionary;
  }

  write(chunk) {
    const callback = this.dictionary.write;
    return callback === undefined ? undefined : FunctionPrototypeCall(callback, this.object, chunk, this.face);
  }

  close() {
    const callback = this.dictionary.close;
    return callback === undefined ? undefined : newPromiseOf(FunctionPrototypeCall(callback, this.object));
  }

  abort(reason) {
    const callback = this.dictionary.abort;
    return callback === undefined ? undefined : newPromiseOf(FunctionPrototypeCall(callback, this.object, reason));
  }
}

let stateOfWritable, isWritableStream, wrapWritable;

class WritableStream {
  #state;

  constructor(underlyingSink = undefined, strategy = undefined) {
    if (underlyingSink === SECRET) {
      this.#state = /** @type {any} */ (strategy);
      return;
    }
    const prefix = "Failed to construct 'WritableStream'";
    if (underlyingSink !== undefined) converters.object(underlyingSink, prefix, "Argument 1");
    const { highWaterMark, size } = convertStrategy(strategy, prefix, "Argument 2");
    const dictionary = convertUnderlyingSink(underlyingSink, prefix, "Argument 1");
    if (dictionary.type !== undefined) throw new RangeError(`${prefix}: The sink has an unknown type`);
    const state = this.#state = new WritableState();
    const sink = new AppSink(underlyingSink, dictionary);
    const controller = new WritableController(state, sink, highWaterMarkOf({ __proto__: null, highWaterMark }, 1), size);
    sink.face = new WritableStreamDefaultController(SECRET, controller);
    const { start } = dictionary;
    const result = start === undefined ? undefined : FunctionPrototypeCall(start, underlyingSink, sink.face);
    controller.waitForStart(newPromiseOf(result));
  }

  get locked() {
    return this.#state.writer !== undefined;
  }

  abort(reason = undefined) {
    if (!isObject(this) || !(#state in this)) return PromiseReject(webidl.brandError());
    if (this.#state.writer !== undefined) return PromiseReject(new TypeError("Cannot abort a stream that is locked to a writer"));
    return writableAbort(this.#state, reason);
  }

  close() {
    if (!isObject(this) || !(#state in this)) return PromiseReject(webidl.brandError());
    if (this.#state.writer !== undefined) return PromiseReject(new TypeError("Cannot close a stream that is locked to a writer"));
    if (closeQueuedOrInFlight(this.#state)) return PromiseReject(new TypeError("The stream is being closed already"));
    return writableClose(this.#state);
  }

  getWriter() {
    return new WritableStreamDefaultWriter(SECRET, new Writer(this.#state));
  }

  static {
    isWritableStream = (value) => isObject(value) && #state in value;
    stateOfWritable = (stream) => stream.#state;
    wrapWritable = (state) => new WritableStream(SECRET, state);
  }
}
webidl.configureInterface(WritableStream);

const convertWritable = webidl.createInterfaceConverter("WritableStream", isWritableStream);

class WritableStreamDefaultWriter {
  #writer;

  constructor(stream) {
    if (stream === SECRET) {
      this.#writer = arguments[1];
      return;
    }
    const prefix = "Failed to construct 'WritableStreamDefaultWriter'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    this.#writer = new Writer(stateOfWritable(convertWritable(stream, prefix, "Argument 1")));
  }

  get closed() {
    if (!isObject(this) || !(#writer in this)) return PromiseReject(webidl.brandError());
    return this.#writer.closed.get();
  }

  get desiredSize() {
    const { stream } = this.#writer;
    if (stream === undefined) throw new TypeError("The writer was released");
    return writerDesiredSize(stream);
  }

  get ready() {
    if (!isObject(this) || !(#writer in this)) return PromiseReject(webidl.brandError());
    return this.#writer.ready.get();
  }

  abort(reason = undefined) {
    if (!isObject(this) || !(#writer in this)) return PromiseReject(webidl.brandError());
    const { stream } = this.#writer;
    if (stream === undefined) return PromiseReject(new TypeError("The writer was released"));
    return writableAbort(stream, reason);
  }

  close() {
    if (!isObject(this) || !(#writer in this)) return PromiseReject(webidl.brandError());
    const { stream } = this.#writer;
    if (stream === undefined) return PromiseReject(new TypeError("The writer was released"));
    if (closeQueuedOrInFlight(stream)) return PromiseReject(new TypeError("The stream is being closed already"));
    return writableClose(stream);
  }

  releaseLock() {
    if (this.#writer.stream !== undefined) releaseWriter(this.#writer);
  }

  write(chunk = undefined) {
    if (!isObject(this) || !(#writer in this)) return PromiseReject(webidl.brandError());
    if (this.#writer.stream === undefined) return PromiseReject(new TypeError("The writer was released"));
    const request = new PromiseWriteRequest();
    writerWrite(this.#writer, chunk, request);
    return request.resolvers.promise;
  }
}
webidl.configureInterface(WritableStreamDefaultWriter);

class WritableStreamDefaultController {
  #controller;

  constructor(secret = undefined, controller = undefined) {
    if (secret !== SECRET) webidl.illegalConstructor();
    this.#controller = controller;
  }

  get signal() {
    return this.#controller.getSignal();
  }

  error(e = undefined) {
    if (this.#controller.stream.status === WRITABLE) this.#controller.error(e);
  }
}
webidl.configureInterface(WritableStreamDefaultController);

module.exports = {
  WritableStream, WritableStreamDefaultController, WritableStreamDefaultWriter, convertWritable, isWritableStream,
  stateOfWritable, wrapWritable,
};
