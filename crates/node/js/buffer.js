"use strict";
// node:buffer (https://nodejs.org/api/buffer.html): Buffer, a Uint8Array with encodings. Work on many bytes is native.
//
// Deviations: resolveObjectURL knows no URLs, since object URLs do not exist here; a Buffer of more than the app's memory
// limit ends the worker.

const native = binding("buffer");
const { UTF8, byteLength: encodedLength, encodingNumber, needEncoding } = require("internal/buffer/encodings");
const { atob, btoa, isAscii, isUtf8, resolveObjectURL, transcode } = require("internal/buffer/functions");
const {
  FastBuffer, TypedArrayPrototype, allocate, allocateFromPool, isAnyArrayBuffer, isUint8Array, lengthOf, poolSettings, trimPool,
} = require("internal/buffer/memory");
const { fillWith, inspection, methods } = require("internal/buffer/methods");
const { ERR_BUFFER_OUT_OF_BOUNDS, ERR_INVALID_ARG_TYPE } = require("internal/errors");
const { validateArray, validateInteger, validateNumber } = require("internal/validators");

const kMaxLength = Number.MAX_SAFE_INTEGER;
const kStringMaxLength = 0x1fffffe8;
const setBytes = Function.prototype.call.bind(TypedArrayPrototype.set);
const fillBytes = Function.prototype.call.bind(TypedArrayPrototype.fill);
const customInspect = Symbol.for("nodejs.util.inspect.custom");

/** How often the stack of a call of the constructor was looked at; Infinity once the warning is out. */
let constructorCalls = 0;
const MAX_LOOKS = 100;

/** Once, and not for code of packages, which the app's author cannot change. */
function warnOfConstructor() {
  if (++constructorCalls > MAX_LOOKS) return;
  const holder = {};
  Error.captureStackTrace(holder, Buffer);
  const { stack } = holder;
  if (typeof stack === "string" && /^.*\n.*[/\\]node_modules[/\\]/.test(stack)) return;
  if (constructorCalls > MAX_LOOKS) return;
  constructorCalls = Infinity;
  require("process").emitWarning("Buffer() is deprecated due to security and usability issues. Please use the Buffer.alloc(), " +
    "Buffer.allocUnsafe(), or Buffer.from() methods instead.", "DeprecationWarning", "DEP0005", Buffer);
}

function Buffer(value, encodingOrOffset, length) {
  warnOfConstructor();
  if (typeof value === "number") {
    if (typeof encodingOrOffset === "string") throw new ERR_INVALID_ARG_TYPE("string", "string", value);
    return Buffer.alloc(value);
  }
  return Buffer.from(value, encodingOrOffset, length);
}
Buffer.prototype = FastBuffer.prototype;
Object.setPrototypeOf(Buffer, Uint8Array);
Object.defineProperty(FastBuffer.prototype, "constructor", {
  __proto__: null, value: Buffer, writable: true, enumerable: false, configurable: true,
});
Object.defineProperty(Buffer, Symbol.species, { __proto__: null, get: () => FastBuffer, configurable: true });

// ---- Allocation. Small buffers that are filled at once share memory: the pool.

Object.defineProperty(Buffer, "poolSize", {
  __proto__: null, enumerable: true, configurable: true, get: () => poolSettings.size, set(size) { poolSettings.size = size; },
});

function checkSize(size) {
  validateNumber(size, "size", 0, kMaxLength);
}

Buffer.alloc = function alloc(size, fill, encoding) {
  checkSize(size);
  const buffer = new FastBuffer(size);
  if (fill !== undefined && fill !== 0 && size > 0) return fillWith(buffer, fill, encoding);
  return buffer;
};
Buffer.allocUnsafe = function allocUnsafe(size) {
  checkSize(size);
  return allocate(size);
};
Buffer.allocUnsafeSlow = function allocUnsafeSlow(size) {
  checkSize(size);
  return new FastBuffer(size);
};

function fromString(text, encoding) {
  const number = typeof encoding !== "string" || encoding === "" ? UTF8 : needEncoding(encoding);
  const { length } = text;
  if (length === 0) return new FastBuffer();
  const most = number === UTF8 ? length * 3 : encodedLength(text, number);
  if (most >= poolSettings.size >>> 1) return new FastBuffer(native.fromText(text, number));
  if (most === 0) return new FastBuffer();
  const buffer = allocateFromPool(most);
  const written = native.write(buffer, text, number, 0, most);
  return written === most ? buffer : trimPool(buffer, written);
}

function fromArrayBuffer(source, byteOffset, length) {
  byteOffset = byteOffset === undefined ? 0 : +byteOffset || 0;
  const most = source.byteLength - byteOffset;
  if (most < 0) throw new ERR_BUFFER_OUT_OF_BOUNDS("offset");
  if (length === undefined) {
    // A view that has no length of its own follows a resizable buffer.
    return source.resizable || source.growable ? new FastBuffer(source, byteOffset) : new FastBuffer(source, byteOffset, most);
  }
  length = +length;
  if (length > most) throw new ERR_BUFFER_OUT_OF_BOUNDS("length");
  return new FastBuffer(source, byteOffset, length > 0 ? length : 0);
}

function fromArrayLike(list) {
  const { length } = list;
  if (!(length > 0)) return new FastBuffer();
  const buffer = allocate(length);
  if (ArrayBuffer.isView(list) || Array.isArray(list)) setBytes(buffer, list);
  else for (let i = 0; i < buffer.length; i++) buffer[i] = list[i];
  return buffer;
}

Buffer.from = function from(value, encodingOrOffset, length) {
  if (typeof value === "string") return fromString(value, encodingOrOffset);
  if (typeof value === "object" && value !== null) {
    if (isAnyArrayBuffer(value)) return fromArrayBuffer(value, encodingOrOffset, length);
    const primitive = value.valueOf?.();
    if (primitive !== undefined && primitive !== null && primitive !== value &&
      (typeof primitive === "string" || typeof primitive === "object")) {
      return from(primitive, encodingOrOffset, length);
    }
    if (value.length !== undefined || isAnyArrayBuffer(value.buffer)) {
      return typeof value.length === "number" ? fromArrayLike(value) : new FastBuffer();
    }
    if (value.type === "Buffer" && Array.isArray(value.data)) return fromArrayLike(value.data);
    if (typeof value[Symbol.toPrimitive] === "function") {
      const text = value[Symbol.toPrimitive]("string");
      if (typeof text === "string") return fromString(text, encodingOrOffset);
    }
  }
  throw new ERR_INVALID_ARG_TYPE("first argument",
    ["string", "Buffer", "ArrayBuffer", "Array", "Array-like Object"], value);
};

Buffer.copyBytesFrom = function copyBytesFrom(view, offset, length) {
  if (!ArrayBuffer.isView(view) || view instanceof DataView) throw new ERR_INVALID_ARG_TYPE("view", ["TypedArray"], view);
  const count = lengthOf(view);
  if (count === 0) return new FastBuffer();
  let start = 0, end = count;
  if (offset !== undefined) {
    validateInteger(offset, "offset", 0);
    if (offset >= count) return new FastBuffer();
    start = offset;
  }
  if (length !== undefined) {
    validateInteger(length, "length", 0);
    end = start + length;
  }
  const part = TypedArrayPrototype.slice.call(view, start, end);
  return fromArrayLike(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
};

Buffer.of = function of(...items) {
  const buffer = allocate(items.length);
  for (let i = 0; i < items.length; i++) buffer[i] = items[i];
  return buffer;
};

Buffer.isBuffer = function isBuffer(value) {
  return value instanceof Buffer;
};
Buffer.isEncoding = function isEncoding(encoding) {
  return typeof encoding === "string" && encoding !== "" && encodingNumber(encoding) !== undefined;
};

Buffer.byteLength = function byteLength(text, encoding) {
  if (typeof text !== "string") {
    if (ArrayBuffer.isView(text) || isAnyArrayBuffer(text)) return text.byteLength;
    throw new ERR_INVALID_ARG_TYPE("string", ["string", "Buffer", "ArrayBuffer"], text);
  }
  const number = encoding ? encodingNumber(encoding) ?? UTF8 : UTF8;
  return number === UTF8 ? native.utf8Length(text) : encodedLength(text, number);
};

Buffer.compare = function compare(left, right) {
  if (!isUint8Array(left)) throw new ERR_INVALID_ARG_TYPE("buf1", ["Buffer", "Uint8Array"], left);
  if (!isUint8Array(right)) throw new ERR_INVALID_ARG_TYPE("buf2", ["Buffer", "Uint8Array"], right);
  return left === right ? 0 : native.compare(left, right);
};

Buffer.concat = function concat(list, length) {
  validateArray(list, "list");
  if (list.length === 0) return new FastBuffer();
  if (length === undefined) {
    length = 0;
    // Not what a property of the view says: that can be the app's.
    for (let i = 0; i < list.length; i++) if (isUint8Array(list[i])) length += lengthOf(list[i]);
  } else {
    validateInteger(length, "length", 0);
  }
  const buffer = allocate(length);
  let at = 0;
  for (let i = 0; i < list.length; i++) {
    const part = list[i];
    if (!isUint8Array(part)) throw new ERR_INVALID_ARG_TYPE(`list[${i}]`, ["Buffer", "Uint8Array"], part);
    if (at >= length) continue;
    const bytes = lengthOf(part);
    native.copy(part, buffer, at, 0, bytes);
    at += bytes;
  }
  if (at < length) fillBytes(buffer, 0, at, length);
  return buffer;
};

// ---- Methods

Object.assign(methods, require("internal/buffer/search").methods, require("internal/buffer/numbers").methods);
Object.assign(Buffer.prototype, methods);
Buffer.prototype.toLocaleString = Buffer.prototype.toString;
Buffer.prototype[customInspect] = Buffer.prototype.inspect;
for (const [name, source] of [["parent", "buffer"], ["offset", "byteOffset"]]) {
  Object.defineProperty(Buffer.prototype, name, {
    __proto__: null, enumerable: true, configurable: false,
    get() { return this instanceof Buffer ? this[source] : undefined; },
  });
}

// ---- Functions of the module

function SlowBuffer(length) {
  return Buffer.allocUnsafeSlow(+length || 0);
}
Object.setPrototypeOf(SlowBuffer.prototype, Uint8Array.prototype);
Object.setPrototypeOf(SlowBuffer, Uint8Array);

const constants = Object.defineProperties({}, {
  MAX_LENGTH: { value: kMaxLength, enumerable: true },
  MAX_STRING_LENGTH: { value: kStringMaxLength, enumerable: true },
});

module.exports = {
  Buffer, FastBuffer, SlowBuffer, atob, btoa, constants, isAscii, isUtf8, kMaxLength, kStringMaxLength, resolveObjectURL,
  transcode,
};
Object.defineProperties(module.exports, {
  FastBuffer: { enumerable: false },
  INSPECT_MAX_BYTES: {
    enumerable: true, configurable: true, get: () => inspection.maxBytes,
    set(value) {
      validateNumber(value, "INSPECT_MAX_BYTES", 0);
      inspection.maxBytes = value;
    },
  },
  Blob: { enumerable: true, configurable: true, get: () => Blob },
  File: { enumerable: true, configurable: true, get: () => File },
});
