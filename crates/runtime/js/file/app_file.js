// @ts-check
"use strict";
// A file of the app's folder as a Blob whose bytes are read on demand. No standard has this; it is
// what Bun.file is, for reading. Adds to the ops of src/ops/file.rs, which ensure that nothing
// outside of the folder is read.
//
// The file is opened again at each use: two readings may differ if the file is written to, one
// reading has what was there when it began (or fails, if the file becomes shorter). `size` is its
// size at the first access; 0 if there is no such file, as in Bun. A File, FormData or Blob cannot
// be made of it without reading: pass them its bytes().

const {
  ArrayIsArray, JSONParse, MathMax, MathMin, PromisePrototypeThen, PromiseReject, PromiseResolve, StringPrototypeStartsWith,
  TypedArrayPrototypeGetBuffer, Uint8Array, Uint32Array, StringPrototypeSlice, TypeError, decodeURIComponent,
} = require("primordials");
const { op_body_bytes, op_body_text, op_file_stat, op_file_open, op_url_parse } = require("ops");
const webidl = require("webidl");
const { currentRequest } = require("request_scope");
const { DOMException } = require("dom/exception");
const { Blob, INTERNAL, blobType, clampIndex, normalizeType } = require("file/blob");
const { typeOfPath } = require("file/types");
const { registerPlatformClass } = require("platform_classes");

const streams = lazy("streams/native");
const textStreams = lazy("file/text_stream");

/** Only this file has it, so only this file makes what it makes. */
const KEY = { __proto__: null };
/** As an end: that of the file. */
const TO_THE_END = -1;
// Why there is no file, as the ops say it.
const OUTSIDE = -2, HIDDEN = -3, NOT_A_FILE = -4, UNREADABLE = -5;

/** @type {(value: any) => boolean} */
let isAppFile;
/** @type {(file: any, request: number) => number} A native body of it; 0 or less: why there is none. */
let openAppFile;
/** @type {(file: any, code: number) => any} The error for what openAppFile returned. */
let refusalOf;

class AppFile extends Blob {
  #path;
  #start;
  #end;
  /** -1: not asked for yet. */
  #size = -1;

  constructor(key, path, start, end, type) {
    if (key !== KEY) webidl.illegalConstructor();
    // @ts-ignore the arguments of INTERNAL: no parts, since they are elsewhere
    super(INTERNAL, null, type);
    this.#path = path;
    this.#start = start;
    this.#end = end;
  }

  get name() {
    return this.#path;
  }

  get size() {
    if (this.#size < 0) {
      const facts = op_file_stat(this.#path);
      const length = ArrayIsArray(facts) ? facts[0] : 0;
      const end = this.#end === TO_THE_END ? length : MathMin(this.#end, length);
      this.#size = MathMax(end - this.#start, 0);
    }
    return this.#size;
  }

  get lastModified() {
    const facts = op_file_stat(this.#path);
    return ArrayIsArray(facts) ? facts[1] : 0;
  }

  exists() {
    try {
      return PromiseResolve(ArrayIsArray(op_file_stat(this.#path)));
    } catch (error) {
      return PromiseReject(error);
    }
  }

  slice(start = undefined, end = undefined, contentType = undefined) {
    const prefix = "Failed to execute 'slice' on 'Blob'";
    const size = this.size;
    const from = start === undefined ? 0 : clampIndex(start, size, prefix, "Argument 1");
    const to = end === undefined ? size : clampIndex(end, size, prefix, "Argument 2");
    const type = contentType === undefined ? "" : webidl.converters.DOMString(contentType, prefix, "Argument 3");
    return new AppFile(KEY, this.#path, this.#start + from, this.#start + MathMax(from, to), normalizeType(type));
  }

  stream() {
    return streamOfAppFile(this);
  }

  textStream() {
    return textStreams.use().decodeStream(streamOfAppFile(this));
  }

  text() {
    return read(this, op_body_text, undefined);
  }

  json() {
    return read(this, op_body_text, parseJson);
  }

  bytes() {
    return read(this, op_body_bytes, undefined);
  }

  arrayBuffer() {
    return read(this, op_body_bytes, bufferOf);
  }

  static {
    isAppFile = (value) => typeof value === "object" && value !== null && #path in value;
    openAppFile = (file, request) => op_file_open(request, file.#path, file.#start, file.#end);
    refusalOf = (file, code) => refusal(file.#path, code);
  }
}
webidl.configureInterface(AppFile);
registerPlatformClass(AppFile, ["name", "size", ["type", blobType]]);

const parseJson = (text) => JSONParse(text);
const bufferOf = (bytes) => TypedArrayPrototypeGetBuffer(bytes);

/** The promise for all of it, converted. */
function read(file, op, convert) {
  try {
    const body = openAppFile(file, currentRequest());
    if (body <= 0) throw refusalOf(file, body);
    const all = PromiseResolve(op(body));
    return convert === undefined ? all : PromisePrototypeThen(all, convert);
  } catch (error) {
    return PromiseReject(error);
  }
}

/** A stream that fails at once where there is no file. */
function streamOfAppFile(file) {
  const body = openAppFile(file, currentRequest());
  const { createNativeReadable, errorStream, streamFromBytes } = streams.use();
  if (body > 0) return createNativeReadable(body);
  const stream = streamFromBytes(new Uint8Array(0));
  errorStream(stream, refusalOf(file, body));
  return stream;
}

function refusal(path, code) {
  switch (code) {
    case OUTSIDE:
      return new DOMException(`'${path}' lies outside the app's folder`, "NotAllowedError");
    case HIDDEN:
      return new DOMException(`'${path}' is not for reading: the environment is in env`, "NotAllowedError");
    case NOT_A_FILE:
      return new DOMException(`'${path}' is not a regular file`, "NotFoundError");
    case UNREADABLE:
      return new DOMException(`'${path}' cannot be read`, "NotReadableError");
    default:
      return new DOMException(`There is no file '${path}' in the app's folder`, "NotFoundError");
  }
}

const toOptions = webidl.createDictionaryConverter("FileOptions", [
  { key: "type", converter: webidl.converters.DOMString },
]);
const offsets = new Uint32Array(8);

/** `file:` URLs are those of import.meta.url: their path counts from the app's folder too. */
function pathOf(path, prefix) {
  if (!StringPrototypeStartsWith(path, "file:")) return path;
  const href = op_url_parse(path, undefined, offsets);
  if (href === undefined) throw new TypeError(`${prefix}: Invalid URL: '${path}'`);
  let end = href.length;
  for (let i = 6; i < 8; i++) if (offsets[i] < end) end = offsets[i];
  return decodeURIComponent(StringPrototypeSlice(href, offsets[5], end));
}

/** Hearth.file, after its arguments were counted. */
function appFile(path, options, prefix) {
  const inner = pathOf(webidl.converters.USVString(path, prefix, "Argument 1"), prefix);
  const { type } = toOptions(options, prefix, "Argument 2");
  return new AppFile(KEY, inner, 0, TO_THE_END, type === undefined ? typeOfPath(inner) : normalizeType(type));
}

module.exports = { appFile, isAppFile, openAppFile, refusalOf, streamOfAppFile };
