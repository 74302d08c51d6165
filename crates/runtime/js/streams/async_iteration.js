// @ts-check
"use strict";
// Streams and asynchronous iteration: ReadableStream.from (https://streams.spec.whatwg.org/#readable-stream-from-iterable,
// the `async_sequence` of Web IDL) and the iterator of a stream (https://streams.spec.whatwg.org/#rs-asynciterator).

const {
  AsyncIteratorPrototype, FunctionPrototypeCall, PromisePrototypeThen, PromiseReject, PromiseResolve,
  SymbolAsyncIterator, SymbolIterator, TypeError, createIteratorPrototype,
} = require("primordials");
const webidl = require("webidl");
const { isObject, promiseOf } = require("streams/promises");
const { defaultRead, readableCancel, releaseReader } = require("streams/readable_core");
const { Source } = require("streams/controller");
const { PromiseRequest, createDefaultState } = require("streams/readable_default");

// ---- From iterables

function getMethod(object, key) {
  const method = object[key];
  if (method === undefined || method === null) return undefined;
  if (typeof method !== "function") throw new TypeError("An iteration method is not a function");
  return method;
}

function checkResult(result) {
  if (!isObject(result)) throw new TypeError("The result of an iterator is not an object");
  return result;
}

/** The source of ReadableStream.from, over a sync or an async iterator. */
class IteratorSource extends Source {
  iterator;
  next;
  isSync;

  constructor(iterator, next, isSync) {
    super();
    this.iterator = iterator;
    this.next = next;
    this.isSync = isSync;
  }

  pull(controller) {
    const result = FunctionPrototypeCall(this.next, this.iterator);
    if (!this.isSync) return PromisePrototypeThen(promiseOf(result), (settled) => this.take(controller, settled));
    // As %AsyncFromSyncIteratorPrototype% does: wait for the value, and close the iterator when it is rejected.
    const done = !!checkResult(result).done;
    const value = result.value;
    let promise;
    try {
      promise = PromiseResolve(value);
    } catch (error) {
      if (!done) this.closeQuietly();
      throw error;
    }
    return PromisePrototypeThen(promise, (settled) => {
      if (done) controller.close();
      else controller.enqueue(settled);
    }, (error) => {
      if (!done) this.closeQuietly();
      throw error;
    });
  }

  take(controller, result) {
    if (checkResult(result).done) controller.close();
    else controller.enqueue(result.value);
  }

  closeQuietly() {
    try {
      const method = getMethod(this.iterator, "return");
      if (method !== undefined) FunctionPrototypeCall(method, this.iterator);
    } catch {
      // The error that led here is the one to report.
    }
  }

  cancel(reason) {
    const method = getMethod(this.iterator, "return");
    if (method === undefined) return undefined;
    const result = FunctionPrototypeCall(method, this.iterator, reason);
    if (this.isSync) return PromisePrototypeThen(PromiseResolve(checkResult(result).value), () => {});
    return PromisePrototypeThen(promiseOf(result), (settled) => { checkResult(settled); });
  }
}

/** ReadableStreamFromIterable: the state of the new stream. */
function stateFromIterable(iterable, prefix) {
  if (!isObject(iterable)) throw webidl.conversionError(prefix, "Argument 1", "is not an iterable object");
  let isSync = false;
  let method = getMethod(iterable, SymbolAsyncIterator);
  if (method === undefined) {
    isSync = true;
    method = getMethod(iterable, SymbolIterator);
    if (method === undefined) throw webidl.conversionError(prefix, "Argument 1", "is not iterable");
  }
  const iterator = FunctionPrototypeCall(method, iterable);
  if (!isObject(iterator)) throw webidl.conversionError(prefix, "Argument 1", "has an iterator that is not an object");
  return createDefaultState(new IteratorSource(iterator, iterator.next, isSync), 0);
}

// ---- The iterator of a stream

/** "End of iteration". */
const END = { __proto__: null };

class IteratorRequest extends PromiseRequest {
  reader;

  constructor(reader) {
    super();
    this.reader = reader;
  }

  chunkSteps(chunk) {
    this.settle(chunk);
  }

  closeSteps() {
    releaseReader(this.reader);
    this.settle(END);
  }

  errorSteps(error) {
    releaseReader(this.reader);
    super.errorSteps(error);
  }
}

/** What is behind an iterator object, as Web IDL has it; calls that come while another is under way queue behind that. */
class IteratorState {
  reader;
  preventCancel;
  finished = false;
  /** @type {any} */
  ongoing = undefined;
  nextSteps = () => this.runNext();
  onNext = (value) => {
    this.ongoing = undefined;
    if (value !== END) return { value, done: false };
    this.finished = true;
    return { value: undefined, done: true };
  };
  onNextFailed = (error) => {
    this.ongoing = undefined;
    this.finished = true;
    throw error;
  };

  constructor(reader, preventCancel) {
    this.reader = reader;
    this.preventCancel = preventCancel;
  }

  queue(steps) {
    return this.ongoing = this.ongoing === undefined ? steps() : PromisePrototypeThen(this.ongoing, steps, steps);
  }

  next() {
    return this.queue(this.nextSteps);
  }

  runNext() {
    if (this.finished) return PromiseResolve({ value: undefined, done: true });
    const request = new IteratorRequest(this.reader);
    defaultRead(this.reader, request);
    return PromisePrototypeThen(request.toPromise(), this.onNext, this.onNextFailed);
  }

  return(value) {
    return PromisePrototypeThen(this.queue(() => this.runReturn(value)), () => ({ value, done: true }));
  }

  runReturn(value) {
    if (this.finished) return PromiseResolve(undefined);
    this.finished = true;
    if (this.preventCancel) {
      releaseReader(this.reader);
      return PromiseResolve(undefined);
    }
    const result = readableCancel(/** @type {any} */ (this.reader.stream), value);
    releaseReader(this.reader);
    return result;
  }
}

let createIterator;

class ReadableStreamAsyncIterator {
  #state;

  constructor(state) {
    this.#state = state;
  }

  next() {
    if (!isObject(this) || !(#state in this)) return PromiseReject(webidl.brandError());
    return this.#state.next();
  }

  return(value) {
    if (!isObject(this) || !(#state in this)) return PromiseReject(webidl.brandError());
    return this.#state.return(value);
  }

  static {
    createIterator = (reader, preventCancel) => new ReadableStreamAsyncIterator(new IteratorState(reader, preventCancel));
  }
}
createIteratorPrototype(ReadableStreamAsyncIterator.prototype, "ReadableStream AsyncIterator", AsyncIteratorPrototype);

module.exports = { createIterator, stateFromIterable };
