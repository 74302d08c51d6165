"use strict";
// What readable-stream lacks against Node: bridges to web streams, duplexPair, the marks of newer versions.

const { AbortError } = require("internal/errors");

const web = () => require("internal/streams/web");

function addMissing(Stream) {
  const { Duplex, Readable, Writable } = Stream;

  Readable.fromWeb = (stream, options) => web().readableFromWeb(stream, options);
  Readable.toWeb = (stream, options) => web().readableToWeb(stream, options);
  Writable.fromWeb = (stream, options) => web().writableFromWeb(stream, options);
  Writable.toWeb = (stream) => web().writableToWeb(stream);
  Duplex.fromWeb = (pair, options) => web().duplexFromWeb(pair, options);
  Duplex.toWeb = (stream) => web().duplexToWeb(stream);

  Writable.prototype[Symbol.asyncDispose] ??= async function () {
    let error;
    if (!this.destroyed) {
      error = this.writableFinished ? null : new AbortError();
      this.destroy(error);
    }
    const { promise, resolve, reject } = Promise.withResolvers();
    Stream.finished(this, (failed) => failed && failed !== error ? reject(failed) : resolve());
    return promise;
  };

  Stream.duplexPair = require("internal/streams/duplex_pair");
  Stream.isDestroyed = require("internal/readable-stream/lib/internal/streams/utils").isDestroyed;
  Object.defineProperty(Stream, "promises", {
    get: () => require("stream/promises"),
    enumerable: true,
    configurable: true,
  });
}

module.exports = { addMissing };
