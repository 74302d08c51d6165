// @ts-check
"use strict";
// https://w3c.github.io/FileAPI/: Blob and File. A blob is a list of byte ranges that slices and blobs made of blobs
// share; they are joined when the blob is first read. Strings are encoded when the size or the bytes are wanted.

const {
  ArrayBufferIsView, ArrayPrototypePush, DateNow, MathMax, MathMin, PromiseReject, PromiseResolve,
  StringPrototypeCharCodeAt, StringPrototypeIndexOf, StringPrototypeSlice, StringPrototypeToLowerCase,
  TypeError, TypedArrayPrototypeGetBuffer, TypedArrayPrototypeGetByteLength, TypedArrayPrototypeGetByteOffset, Uint8Array,
} = require("primordials");
const { op_text_decode, op_text_encode } = require("ops");
const webidl = require("webidl");
const { concatBytes, copyBytes } = require("infra/bytes");
const { registerPlatformClass } = require("platform_classes");

const streams = lazy("streams/native");
const textStreams = lazy("file/text_stream");

/** First argument of Blob's constructor within this folder: the second is the list of parts, the third the type. */
const INTERNAL = { __proto__: null };

/** @type {(value: any) => boolean} */
let isBlob;
/** @type {(blob: any) => Uint8Array} All bytes, for reading only: other blobs may share them. */
let blobBytes;
/** @type {(blob: any) => Uint8Array[]} The same, in pieces. */
let blobParts;
/** @type {(blob: any) => string} */
let blobType;
/** @type {(blob: any) => number} */
let blobSize;
/** @type {(blob: any) => boolean} Whether it is a file that has not been read. */
let isElsewhere;

class Blob {
  /** @type {(Uint8Array | string)[] | null} null: they are elsewhere (app_file.js). */
  #parts;
  /** -1: some parts are strings still. */
  #size = -1;
  #type = "";

  constructor(parts = undefined, options = undefined) {
    if (parts === INTERNAL) {
      this.#parts = arguments[1];
      this.#type = arguments[2];
      return;
    }
    const prefix = "Failed to construct 'Blob'";
    const list = parts === undefined ? [] : toBlobParts(parts, prefix, "Argument 1");
    const { endings, type } = toBlobPropertyBag(options, prefix, "Argument 2");
    this.#parts = processParts(list, endings);
    this.#type = normalizeType(type);
  }

  /** The parts as bytes. */
  #encoded() {
    const parts = this.#parts;
    if (parts === null) throw new TypeError("This is a file that has not been read: use what its bytes() gives");
    if (this.#size < 0) {
      let size = 0;
      for (let i = 0; i < parts.length; i++) {
        if (typeof parts[i] === "string") parts[i] = op_text_encode(/** @type {string} */ (parts[i]));
        size += lengthOf(parts[i]);
      }
      this.#size = size;
    }
    return /** @type {Uint8Array[]} */ (parts);
  }

  #bytes() {
    let parts = this.#encoded();
    if (parts.length !== 1) this.#parts = parts = [concatBytes(parts)];
    return parts[0];
  }

  get size() {
    if (this.#size < 0) this.#encoded();
    return this.#size;
  }

  get type() {
    return this.#type;
  }

  slice(start = undefined, end = undefined, contentType = undefined) {
    const prefix = "Failed to execute 'slice' on 'Blob'";
    const parts = this.#encoded();
    const size = this.#size;
    const from = start === undefined ? 0 : clampIndex(start, size, prefix, "Argument 1");
    const to = end === undefined ? size : clampIndex(end, size, prefix, "Argument 2");
    const type = contentType === undefined ? "" : webidl.converters.DOMString(contentType, prefix, "Argument 3");
    const taken = [];
    for (let i = 0, at = 0; i < parts.length && at < to; i++) {
      const length = lengthOf(parts[i]);
      const begin = MathMax(from - at, 0);
      const stop = MathMin(to - at, length);
      if (begin < stop) ArrayPrototypePush(taken, view(parts[i], begin, stop - begin));
      at += length;
    }
    // @ts-ignore the arguments of INTERNAL
    return new Blob(INTERNAL, taken, normalizeType(type));
  }

  stream() {
    return streams.use().streamFromBytes(this.#bytes());
  }

  textStream() {
    return textStreams.use().decodeStream(streams.use().streamFromBytes(this.#bytes()));
  }

  text() {
    try {
      return PromiseResolve(op_text_decode("utf-8", this.#bytes(), false, false));
    } catch (error) {
      return PromiseReject(error);
    }
  }

  arrayBuffer() {
    try {
      return PromiseResolve(TypedArrayPrototypeGetBuffer(new Uint8Array(this.#bytes())));
    } catch (error) {
      return PromiseReject(error);
    }
  }

  bytes() {
    try {
      return PromiseResolve(new Uint8Array(this.#bytes()));
    } catch (error) {
      return PromiseReject(error);
    }
  }

  static {
    isBlob = (value) => typeof value === "object" && value !== null && #size in value;
    isElsewhere = (blob) => blob.#parts === null;
    blobBytes = (blob) => blob.#bytes();
    blobParts = (blob) => blob.#encoded();
    blobType = (blob) => blob.#type;
    blobSize = (blob) => {
      blob.#encoded();
      return blob.#size;
    };
  }
}
webidl.configureInterface(Blob);
registerPlatformClass(Blob, ["size", "type"]);

/** @type {(value: any) => boolean} */
let isFile;
/** @type {(file: any) => string} */
let fileName;
/** @type {(file: any) => number} */
let fileLastModified;

class File extends Blob {
  #name;
  #lastModified;

  constructor(bits, name, options = undefined) {
    if (bits === INTERNAL) {
      // @ts-ignore the arguments of INTERNAL
      super(INTERNAL, arguments[1], arguments[2]);
      this.#name = arguments[3];
      this.#lastModified = arguments[4];
      return;
    }
    const prefix = "Failed to construct 'File'";
    webidl.requiredArguments(arguments.length, 2, prefix);
    const list = toBlobParts(bits, prefix, "Argument 1");
    name = webidl.converters.USVString(name, prefix, "Argument 2");
    const { endings, lastModified, type } = toFilePropertyBag(options, prefix, "Argument 3");
    // @ts-ignore the arguments of INTERNAL
    super(INTERNAL, processParts(list, endings), normalizeType(type));
    this.#name = name;
    this.#lastModified = lastModified;
  }

  get name() {
    return this.#name;
  }

  get lastModified() {
    return this.#lastModified;
  }

  static {
    isFile = (value) => typeof value === "object" && value !== null && #name in value;
    fileName = (file) => file.#name;
    fileLastModified = (file) => file.#lastModified;
  }
}
webidl.configureInterface(File);

// ---- Conversion

const toBufferSource = webidl.converters.BufferSource;
const toEndings = webidl.createEnumConverter("EndingType", ["transparent", "native"]);
const blobMembers = () => [
  { key: "endings", converter: toEndings, defaultValue: "transparent" },
  { key: "type", converter: webidl.converters.DOMString, defaultValue: "" },
];
const toBlobPropertyBag = webidl.createDictionaryConverter("BlobPropertyBag", blobMembers());
const toFilePropertyBag = webidl.createDictionaryConverter("FilePropertyBag", blobMembers(), [
  { key: "lastModified", converter: webidl.converters["long long"], defaultValue: () => DateNow() },
]);

/** (BufferSource or Blob or USVString) */
const toBlobParts = webidl.createSequenceConverter((value, prefix, context) => {
  if (typeof value === "object" && value !== null) {
    if (isBlob(value)) return value;
    if (ArrayBufferIsView(value) || webidl.isArrayBuffer(value)) return toBufferSource(value, prefix, context);
  }
  return webidl.converters.USVString(value, prefix, context);
});

function processParts(list, endings) {
  const parts = [];
  for (let i = 0; i < list.length; i++) {
    const part = list[i];
    if (typeof part === "string") ArrayPrototypePush(parts, endings === "native" ? toNativeEndings(part) : part);
    else if (isBlob(part)) {
      const shared = blobParts(part);
      for (let j = 0; j < shared.length; j++) ArrayPrototypePush(parts, shared[j]);
    } else ArrayPrototypePush(parts, copyBytes(part));
  }
  return parts;
}

/** Line ends as on this platform: "\n". */
function toNativeEndings(text) {
  let from = 0;
  let result = "";
  for (let at = StringPrototypeIndexOf(text, "\r", from); at >= 0; at = StringPrototypeIndexOf(text, "\r", from)) {
    result += `${StringPrototypeSlice(text, from, at)}\n`;
    from = StringPrototypeCharCodeAt(text, at + 1) === 0x0a ? at + 2 : at + 1;
  }
  return from === 0 ? text : result + StringPrototypeSlice(text, from);
}

/** In lower case; nothing at all when there is anything but printable ASCII. */
function normalizeType(type) {
  for (let i = 0; i < type.length; i++) {
    const code = StringPrototypeCharCodeAt(type, i);
    if (code < 0x20 || code > 0x7e) return "";
  }
  return StringPrototypeToLowerCase(type);
}

function clampIndex(value, size, prefix, context) {
  const index = webidl.converters["long long"](value, prefix, context, CLAMP);
  return index < 0 ? MathMax(size + index, 0) : MathMin(index, size);
}
const CLAMP = { __proto__: null, clamp: true, enforceRange: false };

// ---- Bytes. Nothing here asks for a species, as subarray and slice do, or for `length`, which is an accessor.

const lengthOf = TypedArrayPrototypeGetByteLength;

/** A view of a part of `bytes`. */
function view(bytes, offset, length) {
  return new Uint8Array(TypedArrayPrototypeGetBuffer(bytes), TypedArrayPrototypeGetByteOffset(bytes) + offset, length);
}

// ---- For the rest of this folder

/** A Blob of bytes that no other code will write to. */
function blobFromBytes(bytes, type) {
  // @ts-ignore the arguments of INTERNAL
  return new Blob(INTERNAL, [bytes], normalizeType(type));
}

function fileFromBytes(bytes, name, type) {
  // @ts-ignore the arguments of INTERNAL
  return new File(INTERNAL, [bytes], normalizeType(type), name, DateNow());
}

/** A File of another blob's bytes. */
function fileFromBlob(blob, name) {
  // @ts-ignore the arguments of INTERNAL
  return new File(INTERNAL, copyList(blobParts(blob)), blobType(blob), name, isFile(blob) ? fileLastModified(blob) : DateNow());
}

/** For structuredClone: another one of the same bytes; undefined if they are elsewhere. */
function cloneBlob(blob) {
  if (isElsewhere(blob)) return undefined;
  if (isFile(blob)) {
    // @ts-ignore the arguments of INTERNAL
    return new File(INTERNAL, copyList(blobParts(blob)), blobType(blob), fileName(blob), fileLastModified(blob));
  }
  // @ts-ignore the arguments of INTERNAL
  return new Blob(INTERNAL, copyList(blobParts(blob)), blobType(blob));
}

function copyList(parts) {
  const copy = [];
  for (let i = 0; i < parts.length; i++) ArrayPrototypePush(copy, parts[i]);
  return copy;
}

module.exports = {
  INTERNAL, Blob, File, isBlob, cloneBlob, isFile, blobBytes, blobType, blobSize, fileName, blobFromBytes, fileFromBytes, fileFromBlob,
  view, lengthOf, clampIndex, normalizeType,
};
