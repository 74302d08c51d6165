"use strict";
// Bridges between Node's streams and the web's (https://nodejs.org/api/webstreams.html): the fromWeb and toWeb of Readable,
// Writable and Duplex.

const { AbortError, ERR_INVALID_ARG_TYPE } = require("internal/errors");
const { validateObject } = require("internal/validators");
const Stream = require("internal/readable-stream/lib/stream");
const process = require("process");

const { Duplex, Readable, Writable, finished } = Stream;

function check(value, Class, name) {
  if (!(value instanceof Class)) throw new ERR_INVALID_ARG_TYPE(name, Class.name, value);
}

/** Errors of callbacks belong to no promise. */
function call(callback, ...args) {
  process.nextTick(callback, ...args);
}

/** read and destroy of a stream that takes what a reader gives. */
function readerMethods(reader, getStream) {
  let isClosed = false;
  reader.closed.then(() => { isClosed = true; }, (error) => {
    isClosed = true;
    getStream().destroy(error);
  });
  return {
    read() {
      reader.read().then(({ value, done }) => { getStream().push(done ? null : value); }, (error) => getStream().destroy(error));
    },
    cancel: (error) => isClosed ? Promise.resolve() : reader.cancel(error),
  };
}

function readableFromWeb(web, options = {}) {
  check(web, ReadableStream, "readableStream");
  validateObject(options, "options");
  const { highWaterMark, encoding, objectMode = false, signal } = options;
  const { read, cancel } = readerMethods(web.getReader(), () => stream);
  const stream = new Readable({
    objectMode, highWaterMark, encoding, signal, read,
    destroy(error, callback) {
      cancel(error).then(() => call(callback, error), (failed) => call(callback, error ?? failed));
    },
  });
  return stream;
}

/** write, final and destroy over a writer. */
function writerMethods(writer, getStream) {
  let isClosed = false;
  writer.closed.then(() => { isClosed = true; }, (error) => {
    isClosed = true;
    getStream().destroy(error);
  });
  const end = (promise, callback) => promise.then(() => call(callback), (error) => call(callback, error));
  return {
    write(chunk, encoding, callback) {
      end(writer.ready.then(() => writer.write(chunk)), callback);
    },
    final(callback) {
      end(isClosed ? Promise.resolve() : writer.close(), callback);
    },
    abort: (error) => isClosed ? Promise.resolve() : error ? writer.abort(error) : writer.close(),
  };
}

function writableFromWeb(web, options = {}) {
  check(web, WritableStream, "writableStream");
  validateObject(options, "options");
  const { highWaterMark, decodeStrings = true, objectMode = false, signal } = options;
  const { write, final, abort } = writerMethods(web.getWriter(), () => stream);
  const stream = new Writable({
    highWaterMark, objectMode, decodeStrings, signal, write, final,
    destroy(error, callback) {
      abort(error).then(() => call(callback, error), () => call(callback, error));
    },
  });
  return stream;
}

function duplexFromWeb(pair, options = {}) {
  validateObject(pair, "pair");
  check(pair.readable, ReadableStream, "pair.readable");
  check(pair.writable, WritableStream, "pair.writable");
  validateObject(options, "options");
  const { allowHalfOpen = false, objectMode = false, encoding, decodeStrings = true, highWaterMark, signal } = options;
  const { write, final, abort } = writerMethods(pair.writable.getWriter(), () => stream);
  const { read, cancel } = readerMethods(pair.readable.getReader(), () => stream);
  const stream = new Duplex({
    allowHalfOpen, objectMode, encoding, decodeStrings, highWaterMark, signal, read, write, final,
    destroy(error, callback) {
      Promise.allSettled([abort(error), cancel(error)]).then(() => call(callback, error));
    },
  });
  return stream;
}

/** How a Node stream ended, as the error of a web stream. */
function endError(error, stream) {
  if (error?.code === "ERR_STREAM_PREMATURE_CLOSE") {
    return new AbortError(undefined, { cause: stream.errored ?? error });
  }
  return error;
}

function readableToWeb(stream, options = {}) {
  if (typeof stream?._readableState !== "object") throw new ERR_INVALID_ARG_TYPE("streamReadable", "stream.Readable", stream);
  validateObject(options, "options");
  if (Stream.isDestroyed(stream) || !Stream.isReadable(stream)) {
    const ended = new ReadableStream();
    ended.cancel();
    return ended;
  }
  const { objectMode } = stream._readableState;
  const isBytes = options.type === "bytes";
  let strategy = options.strategy;
  if (strategy === undefined && !isBytes) {
    const highWaterMark = stream.readableHighWaterMark;
    strategy = objectMode ? new CountQueuingStrategy({ highWaterMark }) : new ByteLengthQueuingStrategy({ highWaterMark });
  }
  let controller;
  let isCanceled = false;
  stream.pause();
  const stop = finished(stream, { writable: false }, (error) => {
    stop();
    stream.on("error", () => {});
    if (isCanceled) return;
    if (error) {
      controller.error(endError(error, stream));
      return;
    }
    controller.close();
    if (isBytes) controller.byobRequest?.respond(0);
  });
  stream.on("data", (chunk) => {
    // Another realm's view of the same bytes: a Buffer may lie in a pool.
    if (chunk instanceof Uint8Array && !objectMode) chunk = new Uint8Array(chunk);
    controller.enqueue(chunk);
    if (controller.desiredSize <= 0) stream.pause();
  });
  return new ReadableStream({
    ...(isBytes ? { type: "bytes" } : {}),
    start(given) { controller = given; },
    pull() { stream.resume(); },
    cancel(reason) {
      isCanceled = true;
      stream.destroy(reason);
    },
  }, strategy);
}

function writableToWeb(stream) {
  if (typeof stream?._writableState !== "object") throw new ERR_INVALID_ARG_TYPE("streamWritable", "stream.Writable", stream);
  if (Stream.isDestroyed(stream) || !Stream.isWritable(stream)) {
    const ended = new WritableStream();
    ended.close();
    return ended;
  }
  const highWaterMark = stream.writableHighWaterMark;
  const strategy = stream.writableObjectMode
    ? new CountQueuingStrategy({ highWaterMark }) : { highWaterMark, size: (chunk) => chunk?.length ?? chunk?.byteLength ?? 1 };
  let controller;
  let drained;
  let closing;
  const stop = finished(stream, { readable: false }, (error) => {
    stop();
    stream.on("error", () => {});
    if (error) {
      const failure = endError(error, stream);
      drained?.reject(failure);
      if (closing === undefined) controller.error(failure);
      else closing.reject(failure);
    } else if (closing === undefined) {
      controller.error(new AbortError());
    } else {
      closing.resolve();
    }
  });
  stream.on("drain", () => drained?.resolve());
  return new WritableStream({
    start(given) { controller = given; },
    async write(chunk) {
      if (stream.write(chunk)) return;
      drained = Promise.withResolvers();
      try {
        await drained.promise;
      } finally {
        drained = undefined;
      }
    },
    abort(reason) { stream.destroy(reason); },
    close() {
      closing = Promise.withResolvers();
      stream.end();
      return closing.promise;
    },
  }, strategy);
}

function duplexToWeb(stream) {
  if (typeof stream?._writableState !== "object" || typeof stream?._readableState !== "object") {
    throw new ERR_INVALID_ARG_TYPE("duplex", "stream.Duplex", stream);
  }
  return { readable: readableToWeb(stream), writable: writableToWeb(stream) };
}

module.exports = { duplexFromWeb, duplexToWeb, readableFromWeb, readableToWeb, writableFromWeb, writableToWeb };
