"use strict";
// The methods of Buffer that are about bytes and text; those about numbers and searching have files of their own.

const native = binding("buffer");
const { UTF8, encodingNumber, needEncoding, normalizeEncoding } = require("internal/buffer/encodings");
const {
  FastBuffer, TypedArrayPrototype, byteLengthOf, isUint8Array, lengthOf,
} = require("internal/buffer/memory");
const {
  ERR_BUFFER_OUT_OF_BOUNDS, ERR_INVALID_ARG_TYPE, ERR_INVALID_ARG_VALUE, ERR_INVALID_BUFFER_SIZE, ERR_OUT_OF_RANGE,
  ERR_STRING_TOO_LONG, ERR_UNKNOWN_ENCODING,
} = require("internal/errors");
const { validateInteger, validateNumber, validateString } = require("internal/validators");

const fillBytes = Function.prototype.call.bind(TypedArrayPrototype.fill);

/** Ranges of whole numbers; others become 0, and `fallback` stands for undefined. */
function indexOr(value, fallback, name, least, most = Infinity) {
  if (value === undefined) return fallback;
  const number = +value;
  const index = Number.isInteger(number) ? number : Math.abs(number) <= Number.MAX_SAFE_INTEGER ? Math.floor(number) : 0;
  if (index < least || index > most) {
    throw new ERR_OUT_OF_RANGE(name, most === Infinity ? `>= ${least}` : `>= ${least} && <= ${most}`, index);
  }
  return index;
}

function toText(buffer, encoding, start, end) {
  try {
    return native.toText(buffer, encoding, start, end);
  } catch (error) {
    if (error instanceof RangeError) throw new ERR_STRING_TOO_LONG("1fffffe8");
    throw error;
  }
}

function fillWith(buffer, value, offset, end, encoding) {
  if (typeof value === "string") {
    if (offset === undefined || typeof offset === "string") {
      encoding = offset;
      offset = undefined;
    } else if (typeof end === "string") {
      encoding = end;
      end = undefined;
    }
    const name = normalizeEncoding(encoding);
    if (name === undefined) {
      validateString(encoding, "encoding");
      throw new ERR_UNKNOWN_ENCODING(encoding);
    }
    encoding = name;
    if (value === "") value = 0;
  }
  const { length } = buffer;
  if (offset === undefined) {
    offset = 0;
    end = length;
  } else {
    validateNumber(offset, "offset", 0, Number.MAX_SAFE_INTEGER);
    validateInteger(offset, "offset", 0);
    if (end === undefined) end = length;
    else validateInteger(end, "end", 0, length);
    if (offset >= end) return buffer;
  }
  if (end > byteLengthOf(buffer)) throw new ERR_BUFFER_OUT_OF_BOUNDS();
  if (typeof value === "boolean") value = +value;
  if (typeof value !== "string" && !ArrayBuffer.isView(value)) return fillBytes(buffer, value & 255, offset, end);
  const pattern = typeof value === "string" ? new Uint8Array(native.fromText(value, needEncoding(encoding))) : value;
  if (pattern.byteLength === 0) throw new ERR_INVALID_ARG_VALUE("value", value);
  native.fill(buffer, pattern, offset, end);
  return buffer;
}

function swapper(bits) {
  const size = bits / 8;
  return function () {
    if (lengthOf(this) % size !== 0) throw new ERR_INVALID_BUFFER_SIZE(`${bits}-bits`);
    native.swap(this, size);
    return this;
  };
}

function relative(index, length) {
  index = Math.trunc(index) || 0;
  return index < 0 ? Math.max(index + length, 0) : Math.min(index, length);
}

/** How many bytes inspect shows: INSPECT_MAX_BYTES. */
const inspection = { maxBytes: 50 };

const methods = {
  toString(encoding, start, end) {
    if (arguments.length === 0) return toText(this, UTF8, 0, lengthOf(this));
    const length = lengthOf(this);
    start = start <= 0 ? 0 : start >= length ? length : Math.trunc(start) || 0;
    end = end === undefined || end > length ? length : Math.trunc(end) || 0;
    if (end <= start) return "";
    return toText(this, encoding === undefined ? UTF8 : needEncoding(encoding), start, end);
  },
  write(text, offset, length, encoding) {
    const size = lengthOf(this);
    validateString(text, "argument");
    if (offset === undefined) return native.write(this, text, UTF8, 0, size);
    if (length === undefined && typeof offset === "string") {
      encoding = offset;
      length = size;
      offset = 0;
    } else {
      validateInteger(offset, "offset", 0, size);
      const room = size - offset;
      if (length === undefined) {
        length = room;
      } else if (typeof length === "string") {
        encoding = length;
        length = room;
      } else {
        validateInteger(length, "length", 0, size);
        length = Math.min(length, room);
      }
    }
    return native.write(this, text, encoding ? needEncoding(encoding) : UTF8, offset, length);
  },
  toJSON() {
    return { type: "Buffer", data: Array.from({ length: lengthOf(this) }, (_, i) => this[i]) };
  },
  equals(other) {
    if (!isUint8Array(other)) throw new ERR_INVALID_ARG_TYPE("otherBuffer", ["Buffer", "Uint8Array"], other);
    return this === other || (byteLengthOf(this) === byteLengthOf(other) && native.compare(this, other) === 0);
  },
  compare(target, targetStart, targetEnd, sourceStart, sourceEnd) {
    if (!isUint8Array(target)) throw new ERR_INVALID_ARG_TYPE("target", ["Buffer", "Uint8Array"], target);
    if (arguments.length === 1) return native.compare(this, target);
    const from = (value, name) => value === undefined ? 0 : (validateInteger(value, name, 0), value);
    const to = (value, name, most) => value === undefined ? most : (validateInteger(value, name, 0, most), value);
    targetStart = from(targetStart, "targetStart");
    targetEnd = to(targetEnd, "targetEnd", target.length);
    sourceStart = from(sourceStart, "sourceStart");
    sourceEnd = to(sourceEnd, "sourceEnd", this.length);
    if (sourceStart >= sourceEnd) return targetStart >= targetEnd ? 0 : -1;
    if (targetStart >= targetEnd) return 1;
    return native.compare(Uint8Array.prototype.subarray.call(this, sourceStart, sourceEnd),
      new Uint8Array(target.buffer, target.byteOffset + targetStart, targetEnd - targetStart));
  },
  copy(target, targetStart, sourceStart, sourceEnd) {
    if (!ArrayBuffer.isView(this)) throw new ERR_INVALID_ARG_TYPE("source", ["Buffer", "Uint8Array"], this);
    if (!ArrayBuffer.isView(target)) throw new ERR_INVALID_ARG_TYPE("target", ["Buffer", "Uint8Array"], target);
    targetStart = indexOr(targetStart, 0, "targetStart", 0);
    sourceStart = indexOr(sourceStart, 0, "sourceStart", 0, this.byteLength);
    sourceEnd = indexOr(sourceEnd, this.byteLength, "sourceEnd", 0);
    const length = Math.min(sourceEnd - sourceStart, this.byteLength - sourceStart, target.byteLength - targetStart);
    if (!(length > 0)) return 0;
    native.copy(this, target, targetStart, sourceStart, length);
    return length;
  },
  fill(value, offset, end, encoding) { return fillWith(this, value, offset, end, encoding); },
  subarray(start, end) {
    const length = lengthOf(this);
    const from = relative(start, length);
    const to = end === undefined ? length : relative(end, length);
    return new FastBuffer(this.buffer, this.byteOffset + from, Math.max(to - from, 0));
  },
  slice(start, end) { return this.subarray(start, end); },
  swap16: swapper(16),
  swap32: swapper(32),
  swap64: swapper(64),
  inspect(_depth, context) {
    const shown = Math.min(inspection.maxBytes, this.length), more = this.length - inspection.maxBytes;
    let text = methods.hexSlice.call(this, 0, shown).replace(/(.{2})(?!$)/g, "$1 ");
    if (more > 0) text += ` ... ${more} more byte${more > 1 ? "s" : ""}`;
    if (context) {
      const extras = { __proto__: null };
      let any = false;
      for (const key of binding("util").keysOf(this, !context.showHidden)) {
        extras[key] = this[key];
        any = true;
      }
      if (any) {
        if (this.length !== 0) text += ", ";
        const shownExtras = require("util").inspect(extras, { ...context, breakLength: Infinity, compact: true });
        text += shownExtras.slice("[Object: null prototype] {".length + 1, -2);
      }
    }
    let name = "Buffer";
    try {
      const { constructor } = this;
      if (typeof constructor === "function" && Object.hasOwn(constructor, "name")) name = constructor.name;
    } catch {
      // a getter of the app's threw
    }
    return `<${name} ${text}>`;
  },
};

/** asciiSlice(start, end), asciiWrite(text, offset, length) and so on. */
for (const name of ["ascii", "base64", "base64url", "latin1", "hex", "ucs2", "utf8"]) {
  const number = encodingNumber(name);
  methods[`${name}Slice`] = function (start = 0, end = this.length) {
    return end <= start ? "" : toText(this, number, start, end);
  };
  methods[`${name}Write`] = function (text, offset = 0, length = this.byteLength - offset) {
    if (typeof text !== "string") throw new ERR_INVALID_ARG_TYPE("argument", "string", text);
    offset = Number(offset);
    length = Number(length);
    if (!(offset >= 0 && offset <= this.byteLength)) throw new ERR_BUFFER_OUT_OF_BOUNDS("offset");
    if (!(length >= 0 && length <= this.byteLength - offset)) throw new ERR_BUFFER_OUT_OF_BOUNDS("length");
    return native.write(this, text, number, offset, length);
  };
}

module.exports = { fillWith, inspection, methods, toText };
