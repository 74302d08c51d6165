// @ts-check
"use strict";
// https://fetch.spec.whatwg.org/#concept-body. A body remembers what it was made of, its source: text, bytes, the id of a
// native body, a file of the app, or a stream. A stream object is made when an app reads `.body`; until then text(), json()
// and the others (body.js), and sending the body, work on the source itself.

const { ArrayBufferIsView, SymbolAsyncIterator, TypeError, Uint8Array, markPromiseAsHandled } = require("primordials");
const { op_body_cancel, op_pipe_new, op_text_encode } = require("ops");
const webidl = require("webidl");
const { copyBytes } = require("infra/bytes");

const streams = lazy("streams/native");
const readables = lazy("streams/readable");
const params = lazy("url/search_params");
const blobs = lazy("file/blob");
const appFiles = lazy("file/app_file");
const forms = lazy("file/form_data");
const multipart = lazy("file/multipart");

// What op_respond and op_fetch_start call the kinds of a body.
const BODY_NONE = 0, BODY_BYTES = 1, BODY_TEXT = 2, BODY_NATIVE = 3;
/** And two that they do not know. */
const BODY_STREAM = 4, BODY_FILE = 5;

const toBufferSource = webidl.converters.BufferSource;

const TEXT_TYPE = "text/plain;charset=UTF-8";
const FORM_TYPE = "application/x-www-form-urlencoded;charset=UTF-8";

class InnerBody {
  /** BODY_BYTES, BODY_TEXT, BODY_NATIVE, BODY_STREAM, BODY_FILE. */
  kind;
  /** Bytes, a string, an id, a file; of a stream nothing. Holds for as long as `stream`, if there is one, is untouched. */
  value;
  /** @type {any} */
  stream = null;
  /** @type {any} The stream over the native body, from which `stream` may have been teed. */
  root = null;
  /** Whether the source was taken. */
  used = false;
  /** Whether another body has the same bytes: then they have to be copied before they are given away. */
  shared = false;
  /** @type {{ reason: unknown } | null} Why it cannot be read any more. */
  failure = null;
  /** @type {(() => void) | null} Called once when all has been read, or cannot be. */
  onEnd = null;

  constructor(kind, value) {
    this.kind = kind;
    this.value = value;
  }
}

// ---- Making bodies

// An object of a class whose file has not run cannot exist.
const isReadableStream = (value) => readables.exports !== undefined && readables.exports.isReadableStream(value);
const isURLSearchParams = (value) => params.exports !== undefined && params.exports.isURLSearchParams(value);
const isBlob = (value) => blobs.exports !== undefined && blobs.exports.isBlob(value);
const isAppFile = (value) => appFiles.exports !== undefined && appFiles.exports.isAppFile(value);
const isFormData = (value) => forms.exports !== undefined && forms.exports.isFormData(value);

/** BodyInit: what stays an object, or else a string. */
function convertBodyInit(value, prefix, context) {
  if (typeof value === "string") return value;
  if (typeof value === "object" && value !== null) {
    if (isReadableStream(value) || isBlob(value) || isFormData(value) || isURLSearchParams(value)) return value;
    if (ArrayBufferIsView(value) || webidl.isArrayBuffer(value)) return toBufferSource(value, prefix, context);
    // As in Node, Deno and Bun: frameworks that take Hearth for Node answer with generators.
    if (typeof value[SymbolAsyncIterator] === "function") return readables.use().streamFrom(value, prefix);
  }
  return webidl.converters.USVString(value, prefix, context);
}

/** The content type that the last extractBody found, null if none: a second result without an object for two. */
let extractedType = null;

function lastExtractedType() {
  return extractedType;
}

/** "Extract a body" from what convertBodyInit returned. */
function extractBody(source, prefix) {
  if (typeof source === "string") {
    extractedType = TEXT_TYPE;
    return new InnerBody(BODY_TEXT, source);
  }
  if (isReadableStream(source)) {
    const { isDisturbed, isLocked } = streams.use();
    if (isDisturbed(source) || isLocked(source)) throw new TypeError(`${prefix}: The stream is locked or has been read`);
    extractedType = null;
    return bodyFromStream(source);
  }
  if (isAppFile(source)) {
    const type = blobs.use().blobType(source);
    extractedType = type === "" ? null : type;
    return new InnerBody(BODY_FILE, source);
  }
  if (isBlob(source)) {
    const { blobBytes, blobType } = blobs.use();
    const body = new InnerBody(BODY_BYTES, blobBytes(source));
    body.shared = true;
    extractedType = blobType(source) === "" ? null : blobType(source);
    return body;
  }
  if (isFormData(source)) {
    const { newBoundary, serializeMultipart } = multipart.use();
    const boundary = newBoundary();
    const body = new InnerBody(BODY_BYTES, serializeMultipart(forms.use().formEntries(source), boundary));
    extractedType = `multipart/form-data; boundary=${boundary}`;
    return body;
  }
  if (isURLSearchParams(source)) {
    extractedType = FORM_TYPE;
    return new InnerBody(BODY_TEXT, params.use().serializeParams(source));
  }
  extractedType = null;
  return new InnerBody(BODY_BYTES, copyBytes(source));
}

function bodyFromStream(stream) {
  const body = new InnerBody(BODY_STREAM, undefined);
  body.stream = stream;
  return body;
}

/** A body that natives have; null for id 0. */
function bodyFromNative(id) {
  return id === 0 ? null : new InnerBody(BODY_NATIVE, id);
}

// ---- State

function isUsed(body) {
  return body.used || (body.stream !== null && streams.use().isDisturbed(body.stream));
}

function isUnusable(body) {
  if (body.used || body.stream === null) return body.used;
  const { isDisturbed, isLocked } = streams.use();
  return isDisturbed(body.stream) || isLocked(body.stream);
}

/** Locks a stream for good, and does not care what is in it. */
function lockAway(stream) {
  markPromiseAsHandled(streams.use().readAllBytes(stream));
}

/** The stream that `.body` is. */
function streamOf(body) {
  if (body.stream === null) {
    const { createNativeReadable, errorStream, streamFromBytes } = streams.use();
    if (body.used) {
      body.stream = streamFromBytes(new Uint8Array(0));
      lockAway(body.stream);
    } else if (body.kind === BODY_NATIVE) {
      body.stream = body.root = createNativeReadable(body.value);
      if (body.failure !== null) errorStream(body.stream, body.failure.reason);
    } else if (body.kind === BODY_FILE) {
      body.stream = body.root = appFiles.use().streamOfAppFile(body.value);
    } else {
      body.stream = streamFromBytes(body.kind === BODY_TEXT ? op_text_encode(body.value) : body.value);
    }
  }
  return body.stream;
}

/** Two bodies of one: the given one stays usable, the returned one has the same bytes. It must not be unusable. */
function cloneBody(body) {
  if (body.stream === null && body.kind !== BODY_NATIVE) {
    const copy = new InnerBody(body.kind, body.value);
    copy.shared = body.shared = true;
    return copy;
  }
  const branches = streams.use().teeForClone(streamOf(body));
  body.kind = BODY_STREAM;
  body.value = undefined;
  body.stream = branches[0];
  const copy = bodyFromStream(branches[1]);
  copy.failure = body.failure;
  return copy;
}

/** Moves a body that is not unusable into a new one: what `new Request(request)` does to the old one's. */
function transferBody(body) {
  const { kind, value, stream } = body;
  body.used = true;
  if (stream === null || kind === BODY_TEXT || kind === BODY_BYTES) {
    if (stream !== null) lockAway(stream);
    const moved = new InnerBody(kind, value);
    moved.shared = body.shared;
    moved.failure = body.failure;
    return moved;
  }
  const { cancelStream, takeNative, teeForClone } = streams.use();
  const id = takeNative(stream);
  if (id !== 0) return new InnerBody(BODY_NATIVE, id);
  const branches = teeForClone(stream);
  markPromiseAsHandled(cancelStream(branches[1], undefined));
  return bodyFromStream(branches[0]);
}

/** The native body of a BODY_FILE whose stream was not requested, for `request`. Throws where there is no such file. */
function openFileBody(file, request) {
  const { openAppFile, refusalOf } = appFiles.use();
  const id = openAppFile(file, request);
  if (id <= 0) throw refusalOf(file, id);
  return id;
}

/** This body will not be read: cancels its source. */
function discardBody(body, reason) {
  if (body === null || isUnusable(body)) return;
  if (body.stream !== null) markPromiseAsHandled(streams.use().cancelStream(body.stream, reason));
  else if (body.kind === BODY_NATIVE) op_body_cancel(body.value);
  body.used = true;
}

/** Whatever reads this body from now on fails with `reason`; natives have been told to fail reads that wait. */
function failBody(body, reason) {
  if (body.failure !== null) return;
  body.failure = { __proto__: null, reason };
  if (body.root !== null) streams.use().errorStream(body.root, reason);
}

function onBodyEnd(body, callback) {
  body.onEnd = callback;
}

function endBody(body) {
  const callback = body.onEnd;
  body.onEnd = null;
  if (callback !== null) callback();
}

// ---- Sending

/** [kind, value] of a body as op_respond and op_fetch_start want it. It counts as used from then on. */
function bodyForNative(body, request) {
  if (body === null) return [BODY_NONE, undefined];
  const { kind, value, stream } = body;
  if (isUnusable(body)) throw new TypeError("The body has been read already, or is locked");
  if (body.failure !== null) throw body.failure.reason;
  body.used = true;
  body.value = undefined;
  if (kind !== BODY_STREAM) {
    if (stream === null) return kind === BODY_FILE ? [BODY_NATIVE, openFileBody(value, request)] : [kind, value];
    if (kind !== BODY_NATIVE && kind !== BODY_FILE) {
      lockAway(stream);
      return [kind, value];
    }
  }
  const { pumpToPipe, takeNative } = streams.use();
  let id = takeNative(stream);
  if (id === 0) {
    id = op_pipe_new(request);
    markPromiseAsHandled(pumpToPipe(stream, id));
  }
  return [BODY_NATIVE, id];
}

module.exports = {
  BODY_NONE, BODY_BYTES, BODY_TEXT, BODY_NATIVE, BODY_STREAM, BODY_FILE, TEXT_TYPE, InnerBody, convertBodyInit, extractBody,
  lastExtractedType, bodyFromNative, isUsed, isUnusable, streamOf, cloneBody, transferBody, discardBody, failBody, onBodyEnd,
  endBody, bodyForNative, openFileBody,
};
