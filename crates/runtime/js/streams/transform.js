// @ts-check
"use strict";
// TransformStream and its controller: https://streams.spec.whatwg.org/#ts.
// Deviations: not transferable; a transform that returns no promise is over a microtask earlier than in the spec.

const {
  FunctionPrototypeCall, PromisePrototypeThen, PromiseReject, PromiseWithResolvers, RangeError, TypeError,
} = require("primordials");
const webidl = require("webidl");
const { FULFILLED, LazyPromise, delayed, isObject, newPromiseOf, promiseOf } = require("streams/promises");
const { convertStrategy, highWaterMarkOf } = require("streams/strategies");
const { ERRORED } = require("streams/readable_core");
const { Source } = require("streams/controller");
const { createDefaultState } = require("streams/readable_default");
const { ERRORED: WRITABLE_ERRORED, ERRORING } = require("streams/writable_core");
const { Sink, createWritableState } = require("streams/writable_controller");
const { wrapWritable } = require("streams/writable");
const { wrapReadable } = require("streams/readable");

const { converters } = webidl;

/** What makes a constructor that apps cannot use usable here. */
const SECRET = { __proto__: null };

/** What is done with chunks: the transform, flush and cancel algorithms; all may throw, what they return is waited for. */
class Transformer {
  transform(_chunk, _transform) {}
  flush(_transform) {}
  cancel(_reason) {}
}

/** The transformer of an app: its callbacks, and the controller that they are given. */
class AppTransformer extends Transformer {
  object;
  dictionary;
  /** @type {any} */
  face = undefined;

  constructor(object, dictionary) {
    super();
    this.object = object;
    this.dictionary = dictionary;
  }

  transform(chunk, transform) {
    const callback = this.dictionary.transform;
    if (callback === undefined) return transform.enqueue(chunk);
    return FunctionPrototypeCall(callback, this.object, chunk, this.face);
  }

  flush() {
    const callback = this.dictionary.flush;
    return callback === undefined ? undefined : newPromiseOf(FunctionPrototypeCall(callback, this.object, this.face));
  }

  cancel(reason) {
    const callback = this.dictionary.cancel;
    return callback === undefined ? undefined : newPromiseOf(FunctionPrototypeCall(callback, this.object, reason));
  }
}

/** The state of a transform stream and of its controller. */
class Transform {
  /** @type {any} undefined when the algorithms are cleared */
  transformer;
  /** @type {any} */
  readable;
  /** @type {any} */
  writable;
  /** @type {any} */
  backpressure = true;
  /** [[backpressureChangePromise]] */
  change = new LazyPromise();
  /** @type {any} resolvers of [[finishPromise]] */
  finish = undefined;

  /** InitializeTransformStream; `start` is a promise of ours for the start algorithm. */
  constructor(transformer, start, writableMark, writableSize, readableMark, readableSize) {
    this.transformer = transformer;
    this.writable = createWritableState(new TransformSink(this), writableMark, writableSize, delayed(start));
    this.readable = createDefaultState(new TransformSource(this), readableMark, readableSize, delayed(start));
  }

  enqueue(chunk) {
    const { controller } = this.readable;
    if (!controller.canCloseOrEnqueue()) throw new TypeError("The readable side is not in a state that permits enqueue");
    try {
      controller.enqueue(chunk);
    } catch (error) {
      this.errorWritableAndUnblock(error);
      throw this.readable.storedError;
    }
    const backpressure = !controller.shouldPull();
    if (backpressure !== this.backpressure) this.setBackpressure(true);
  }

  error(error) {
    this.readable.controller.error(error);
    this.errorWritableAndUnblock(error);
  }

  terminate() {
    this.readable.controller.close();
    this.errorWritableAndUnblock(new TypeError("The transform stream was terminated"));
  }

  errorWritableAndUnblock(error) {
    this.transformer = undefined;
    this.writable.controller.errorIfNeeded(error);
    this.unblockWrite();
  }

  setBackpressure(backpressure) {
    this.change.resolve();
    this.change.renew();
    this.backpressure = backpressure;
  }

  unblockWrite() {
    if (this.backpressure) this.setBackpressure(false);
  }

  /** What the sink's write is to wait for. */
  perform(chunk) {
    let result;
    try {
      result = this.transformer.transform(chunk, this);
    } catch (error) {
      result = PromiseReject(error);
    }
    if (!isObject(result)) return undefined;
    return PromisePrototypeThen(promiseOf(result), undefined, (error) => {
      this.error(error);
      throw error;
    });
  }

  /**
   * Runs flush or cancel, the last thing to be run, then `ok` or `bad`, which settle `finish`. There is no transformer any
   * more when the app cancels what it has not read of a stream that was terminated.
   */
  end(flush, reason, ok, bad) {
    this.finish = PromiseWithResolvers();
    const { transformer } = this;
    this.transformer = undefined;
    let result = FULFILLED;
    try {
      if (transformer !== undefined) result = promiseOf(flush ? transformer.flush(this) : transformer.cancel(reason));
    } catch (error) {
      result = PromiseReject(error);
    }
    PromisePrototypeThen(result, ok, bad);
    return this.finish.promise;
  }
}

class TransformSink extends Sink {
  owner;
  constructor(owner) {
    super();
    this.owner = owner;
  }

  write(chunk) {
    const { owner } = this;
    if (!owner.backpressure) return owner.perform(chunk);
    return PromisePrototypeThen(owner.change.get(), () => {
      if (owner.writable.status === ERRORING) throw owner.writable.storedError;
      return owner.perform(chunk);
    });
  }

  close() {
    const { owner } = this;
    if (owner.finish !== undefined) return owner.finish.promise;
    const { readable } = owner;
    return owner.end(true, undefined, () => {
      if (readable.status === ERRORED) {
        owner.finish.reject(readable.storedError);
      } else {
        readable.controller.close();
        owner.finish.resolve(undefined);
      }
    }, (error) => {
      readable.controller.error(error);
      owner.finish.reject(error);
    });
  }

  abort(reason) {
    const { owner } = this;
    if (owner.finish !== undefined) return owner.finish.promise;
    const { readable } = owner;
    return owner.end(false, reason, () => {
      if (readable.status === ERRORED) {
        owner.finish.reject(readable.storedError);
      } else {
        readable.controller.error(reason);
        owner.finish.resolve(undefined);
      }
    }, (error) => {
      readable.controller.error(error);
      owner.finish.reject(error);
    });
  }
}

class TransformSource extends Source {
  owner;
  constructor(owner) {
    super();
    this.owner = owner;
  }

  pull() {
    this.owner.setBackpressure(false);
    return this.owner.change.get();
  }

  cancel(reason) {
    const { owner } = this;
    if (owner.finish !== undefined) return owner.finish.promise;
    const { writable } = owner;
    return owner.end(false, reason, () => {
      if (writable.status === WRITABLE_ERRORED) {
        owner.finish.reject(writable.storedError);
      } else {
        writable.controller.errorIfNeeded(reason);
        owner.unblockWrite();
        owner.finish.resolve(undefined);
      }
    }, (error) => {
      writable.controller.errorIfNeeded(error);
      owner.unblockWrite();
      owner.finish.reject(error);
    });
  }
}

/** A transform stream of ours, for encoding.js and others: { readable, writable }, as streams. */
function createTransform(transformer) {
  const transform = new Transform(transformer, FULFILLED, 1, undefined, 0, undefined);
  return { __proto__: null, readable: wrapReadable(transform.readable), writable: wrapWritable(transform.writable) };
}

const convertTransformer = webidl.createDictionaryConverter("Transformer", [
  { key: "cancel", converter: webidl.createCallbackConverter("TransformerCancelCallback") },
  { key: "flush", converter: webidl.createCallbackConverter("TransformerFlushCallback") },
  { key: "readableType", converter: converters.any },
  { key: "start", converter: webidl.createCallbackConverter("TransformerStartCallback") },
  { key: "transform", converter: webidl.createCallbackConverter("TransformerTransformCallback") },
  { key: "writableType", converter: converters.any },
]);

class TransformStream {
  #readable;
  #writable;

  constructor(transformer = undefined, writableStrategy = undefined, readableStrategy = undefined) {
    const prefix = "Failed to construct 'TransformStream'";
    if (transformer !== undefined) converters.object(transformer, prefix, "Argument 1");
    const writableQueuing = convertStrategy(writableStrategy, prefix, "Argument 2");
    const readableQueuing = convertStrategy(readableStrategy, prefix, "Argument 3");
    const dictionary = convertTransformer(transformer, prefix, "Argument 1");
    if (dictionary.readableType !== undefined) throw new RangeError(`${prefix}: readableType is not known`);
    if (dictionary.writableType !== undefined) throw new RangeError(`${prefix}: writableType is not known`);
    const readableMark = highWaterMarkOf(readableQueuing, 0);
    const writableMark = highWaterMarkOf(writableQueuing, 1);
    const start = PromiseWithResolvers();
    const inner = new AppTransformer(transformer, dictionary);
    const transform = new Transform(inner, start.promise, writableMark, writableQueuing.size, readableMark, readableQueuing.size);
    this.#readable = wrapReadable(transform.readable);
    this.#writable = wrapWritable(transform.writable);
    inner.face = new TransformStreamDefaultController(SECRET, transform);
    start.resolve(dictionary.start === undefined ? undefined : FunctionPrototypeCall(dictionary.start, transformer, inner.face));
  }

  get readable() {
    return this.#readable;
  }

  get writable() {
    return this.#writable;
  }
}
webidl.configureInterface(TransformStream);

class TransformStreamDefaultController {
  #transform;

  constructor(secret = undefined, transform = undefined) {
    if (secret !== SECRET) webidl.illegalConstructor();
    this.#transform = transform;
  }

  get desiredSize() {
    return this.#transform.readable.controller.getDesiredSize();
  }

  enqueue(chunk = undefined) {
    this.#transform.enqueue(chunk);
  }

  error(reason = undefined) {
    this.#transform.error(reason);
  }

  terminate() {
    this.#transform.terminate();
  }
}
webidl.configureInterface(TransformStreamDefaultController);

module.exports = { TransformStream, TransformStreamDefaultController, Transformer, createTransform };
