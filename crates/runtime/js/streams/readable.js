// @ts-check
"use strict";
// ReadableStream: https://streams.spec.whatwg.org/#rs-class. What its methods do is in the other files of this folder.
// Deviation: not transferable.

const {
  ObjectDefineProperty, PromiseReject, RangeError, SymbolAsyncIterator, TypeError, markPromiseAsHandled,
} = require("primordials");
const webidl = require("webidl");
const { isSignal } = require("dom/abort");
const { isObject } = require("streams/promises");
const { convertStrategy, highWaterMarkOf } = require("streams/strategies");
const { ReadableState, acquireByobReader, acquireDefaultReader, readableCancel } = require("streams/readable_core");
const { brands, setUpDefaultFromApp, wrapDefaultReader } = require("streams/readable_default");
const { setUpByteFromApp, wrapByobReader } = require("streams/readable_byte");
const { convertWritable, stateOfWritable } = require("streams/writable");
const { pipe } = require("streams/pipe");
const { teeState } = require("streams/tee");
const { createIterator, stateFromIterable } = require("streams/async_iteration");

const { converters } = webidl;

/** What makes the constructor take a state. */
const SECRET = { __proto__: null };

const convertUnderlyingSource = webidl.createDictionaryConverter("UnderlyingSource", [
  { key: "autoAllocateChunkSize", converter: converters["unsigned long long"], options: { __proto__: null, enforceRange: true } },
  { key: "cancel", converter: webidl.createCallbackConverter("UnderlyingSourceCancelCallback") },
  { key: "pull", converter: webidl.createCallbackConverter("UnderlyingSourcePullCallback") },
  { key: "start", converter: webidl.createCallbackConverter("UnderlyingSourceStartCallback") },
  { key: "type", converter: webidl.createEnumConverter("ReadableStreamType", ["bytes"]) },
]);
const convertGetReaderOptions = webidl.createDictionaryConverter("ReadableStreamGetReaderOptions", [
  { key: "mode", converter: webidl.createEnumConverter("ReadableStreamReaderMode", ["byob"]) },
]);
const convertIteratorOptions = webidl.createDictionaryConverter("ReadableStreamIteratorOptions", [
  { key: "preventCancel", converter: converters.boolean, defaultValue: false },
]);
const convertPipeOptions = webidl.createDictionaryConverter("StreamPipeOptions", [
  { key: "preventAbort", converter: converters.boolean, defaultValue: false },
  { key: "preventCancel", converter: converters.boolean, defaultValue: false },
  { key: "preventClose", converter: converters.boolean, defaultValue: false },
  { key: "signal", converter: webidl.createInterfaceConverter("AbortSignal", isSignal) },
]);

let isReadableStream, stateOfReadable, wrapReadable;

class ReadableStream {
  #state;

  constructor(underlyingSource = undefined, strategy = undefined) {
    if (underlyingSource === SECRET) {
      this.#state = /** @type {any} */ (strategy);
      return;
    }
    const prefix = "Failed to construct 'ReadableStream'";
    if (underlyingSource !== undefined) converters.object(underlyingSource, prefix, "Argument 1");
    const queuing = convertStrategy(strategy, prefix, "Argument 2");
    const dictionary = convertUnderlyingSource(underlyingSource, prefix, "Argument 1");
    const state = this.#state = new ReadableState();
    if (dictionary.type === "bytes") {
      if (queuing.size !== undefined) throw new RangeError(`${prefix}: A stream of type 'bytes' takes no size function`);
      setUpByteFromApp(state, underlyingSource, dictionary, highWaterMarkOf(queuing, 0));
    } else {
      setUpDefaultFromApp(state, underlyingSource, dictionary, highWaterMarkOf(queuing, 1), queuing.size);
    }
  }

  static from(asyncIterable) {
    const prefix = "Failed to execute 'from' on 'ReadableStream'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    return streamFrom(asyncIterable, prefix);
  }

  get locked() {
    return this.#state.reader !== undefined;
  }

  cancel(reason = undefined) {
    if (!isObject(this) || !(#state in this)) return PromiseReject(webidl.brandError());
    if (this.#state.reader !== undefined) return PromiseReject(new TypeError("The stream is locked to a reader"));
    return readableCancel(this.#state, reason);
  }

  getReader(options = undefined) {
    const state = this.#state;
    const { mode } = convertGetReaderOptions(options, "Failed to execute 'getReader' on 'ReadableStream'", "Argument 1");
    return mode === undefined ? wrapDefaultReader(acquireDefaultReader(state)) : wrapByobReader(acquireByobReader(state));
  }

  pipeThrough(transform, options = undefined) {
    const state = this.#state;
    const prefix = "Failed to execute 'pipeThrough' on 'ReadableStream'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    const { readable, writable } = convertPair(transform, prefix, "Argument 1");
    const { preventClose, preventAbort, preventCancel, signal } = convertPipeOptions(options, prefix, "Argument 2");
    const dest = stateOfWritable(writable);
    if (state.reader !== undefined) throw new TypeError(`${prefix}: The stream is locked to a reader`);
    if (dest.writer !== undefined) throw new TypeError(`${prefix}: The writable side is locked to a writer`);
    markPromiseAsHandled(pipe(state, dest, preventClose, preventAbort, preventCancel, signal));
    return readable;
  }

  pipeTo(destination, options = undefined) {
    try {
      const state = this.#state;
      const prefix = "Failed to execute 'pipeTo' on 'ReadableStream'";
      webidl.requiredArguments(arguments.length, 1, prefix);
      const dest = stateOfWritable(convertWritable(destination, prefix, "Argument 1"));
      const { preventClose, preventAbort, preventCancel, signal } = convertPipeOptions(options, prefix, "Argument 2");
      if (state.reader !== undefined) throw new TypeError(`${prefix}: The stream is locked to a reader`);
      if (dest.writer !== undefined) throw new TypeError(`${prefix}: The destination is locked to a writer`);
      return pipe(state, dest, preventClose, preventAbort, preventCancel, signal);
    } catch (error) {
      return PromiseReject(error);
    }
  }

  tee() {
    return teeReadable(this.#state);
  }

  values(options = undefined) {
    const state = this.#state;
    const { preventCancel } = convertIteratorOptions(options, "Failed to execute 'values' on 'ReadableStream'", "Argument 1");
    return createIterator(acquireDefaultReader(state), preventCancel);
  }

  static {
    isReadableStream = (value) => isObject(value) && #state in value;
    stateOfReadable = (stream) => stream.#state;
    wrapReadable = (state) => new ReadableStream(SECRET, state);
  }
}
webidl.configureInterface(ReadableStream);
ObjectDefineProperty(ReadableStream.prototype, SymbolAsyncIterator, {
  __proto__: null, value: ReadableStream.prototype.values, writable: true, enumerable: false, configurable: true,
});

const convertReadable = webidl.createInterfaceConverter("ReadableStream", isReadableStream);
brands.convertReadable = convertReadable;
brands.stateOf = stateOfReadable;

const convertPair = webidl.createDictionaryConverter("ReadableWritablePair", [
  { key: "readable", converter: convertReadable, required: true },
  { key: "writable", converter: convertWritable, required: true },
]);

/** The two branches, as streams. */
function teeReadable(state, clonesForSecond = false) {
  const { branch1, branch2 } = teeState(state, clonesForSecond);
  return [wrapReadable(branch1.state), wrapReadable(branch2.state)];
}

/** As it is now: an app may change the prototype. */
const { pipeThrough } = ReadableStream.prototype;

/** For bodies, too. */
function streamFrom(iterable, prefix) {
  return wrapReadable(stateFromIterable(iterable, prefix));
}

module.exports = {
  ReadableStream, convertReadable, isReadableStream, stateOfReadable, teeReadable, wrapReadable, pipeThrough,
  streamFrom,
};
