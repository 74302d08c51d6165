"use strict";
// Streams that become streams when they are first used as such. Most hashes, ciphers and signatures never are, and node:stream
// is much to load: what asks for a property that they do not have themselves gets it from there.

const load = (name) => require(name);

/** A constructor to inherit from; `kind` is `Transform` or `Writable`. */
function lazyStream(kind) {
  function LazyStream(options) {
    if (options !== undefined) this._options = options;
  }
  const { prototype } = LazyStream;
  // Here, so that setting it asks nothing of the stream.
  prototype._options = undefined;

  let Stream;
  function adopt() {
    if (Stream === undefined) {
      Stream = load("stream")[kind];
      Object.setPrototypeOf(prototype, Stream.prototype);
      Object.setPrototypeOf(LazyStream, Stream);
    }
    return Stream;
  }

  Object.setPrototypeOf(prototype, new Proxy({}, {
    get: (_, key, receiver) => Reflect.get(key in Object.prototype ? Object.prototype : adopt().prototype, key, receiver),
    has: (_, key) => key in Object.prototype || Reflect.has(adopt().prototype, key),
    getPrototypeOf: () => adopt().prototype,
  }));

  for (const name of kind === "Transform" ? ["_readableState", "_writableState"] : ["_writableState"]) {
    Object.defineProperty(prototype, name, {
      __proto__: null,
      get() {
        adopt().call(this, this._options);
        if (kind === "Transform") this._writableState.decodeStrings = false;
        return this[name];
      },
      set(value) {
        Object.defineProperty(this, name, { __proto__: null, value, enumerable: true, configurable: true, writable: true });
      },
      enumerable: true,
      configurable: true,
    });
  }
  return LazyStream;
}

module.exports = { lazyStream };
