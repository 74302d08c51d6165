// @ts-check
"use strict";
// https://fetch.spec.whatwg.org/#body-mixin: the common part of Request and Response. Reading a
// body whose stream was not requested goes to its source (inner_body.js): text() of a native body
// that has arrived is one call of an op.

const {
  ObjectDefineProperties, ObjectGetOwnPropertyDescriptors, PromisePrototypeThen, PromiseReject, PromiseResolve,
  StringPrototypeCharCodeAt, StringPrototypeSlice, StringPrototypeToWellFormed, TypeError, Uint8Array,
} = require("primordials");
const { op_body_bytes, op_body_text, op_text_decode, op_text_encode, op_url_form_parse } = require("ops");
const webidl = require("webidl");
const { currentRequest } = require("request_scope");
const { copyBytes, exactBuffer } = require("infra/bytes");
const { isTaken, jsonFromTaken, jsonFromText, takeJson } = require("fetch/json");
const {
  BODY_FILE, BODY_NATIVE, BODY_TEXT, endBody, isUnusable, isUsed, openFileBody, streamOf,
} = require("fetch/inner_body");

const mime = lazy("infra/mime");
const streams = lazy("streams/native");
const textStreams = lazy("file/text_stream");
const blobs = lazy("file/blob");
const forms = lazy("file/form_data");
const multipart = lazy("file/multipart");

/** @returns {Uint8Array | Promise<Uint8Array>} All bytes, the caller's own. */
function takeBytes(body) {
  const { kind, value, stream } = body;
  body.used = true;
  body.value = undefined;
  if (stream === null) {
    if (kind === BODY_NATIVE) return op_body_bytes(value);
    if (kind === BODY_FILE) return op_body_bytes(openFileBody(value, currentRequest()));
    if (kind === BODY_TEXT) return op_text_encode(value);
    return body.shared ? copyBytes(value) : value;
  }
  const { readAllBytes, takeNative } = streams.use();
  const id = takeNative(stream);
  return id === 0 ? readAllBytes(stream) : op_body_bytes(id);
}

/** @returns {string | Promise<string>} */
function takeText(body) {
  const { kind, value, stream } = body;
  if (stream === null && kind === BODY_TEXT) {
    body.used = true;
    body.value = undefined;
    // As if it had been encoded and decoded.
    const text = StringPrototypeCharCodeAt(value, 0) === 0xfeff ? StringPrototypeSlice(value, 1) : value;
    return StringPrototypeToWellFormed(text);
  }
  if (kind === BODY_NATIVE) {
    body.used = true;
    const id = stream === null ? value : streams.use().takeNative(stream);
    if (id !== 0) return op_body_text(id);
  }
  if (stream !== null) {
    body.used = true;
    body.value = undefined;
    return streams.use().readAllBytes(stream, decode);
  }
  const bytes = takeBytes(body);
  return webidl.isUint8Array(bytes) ? decode(bytes) : PromisePrototypeThen(bytes, decode);
}

function decode(bytes) {
  return op_text_decode("utf-8", bytes, false, false);
}

/** The promise for `convert(result, owner)`, when `result` may be a promise itself. */
function whenTaken(body, owner, result, isThere, convert) {
  if (isThere) {
    endBody(body);
    return PromiseResolve(convert(result, owner));
  }
  return PromisePrototypeThen(result, (value) => {
    endBody(body);
    return convert(value, owner);
  }, (error) => {
    endBody(body);
    throw body.failure === null ? error : body.failure.reason;
  });
}

function checkUsable(body, method) {
  if (body.failure !== null) throw body.failure.reason;
  if (isUnusable(body)) throw new TypeError(`Failed to execute '${method}': The body has been read already, or is locked`);
}

function consumeText(body, owner, method, convert) {
  if (body === null) return PromiseResolve(convert("", owner));
  checkUsable(body, method);
  const text = takeText(body);
  return whenTaken(body, owner, text, typeof text === "string", convert);
}

function consumeJson(body, owner) {
  if (body === null || body.kind !== BODY_NATIVE || body.stream !== null) return consumeText(body, owner, "json", jsonFromText);
  checkUsable(body, "json");
  body.used = true;
  const taken = takeJson(body.value);
  const isThere = isTaken(taken);
  return whenTaken(body, owner, taken, isThere, isThere ? jsonFromTaken : jsonFromText);
}

function consumeBytes(body, owner, method, convert) {
  if (body === null) return PromiseResolve(convert(new Uint8Array(0), owner));
  checkUsable(body, method);
  const bytes = takeBytes(body);
  return whenTaken(body, owner, bytes, webidl.isUint8Array(bytes), convert);
}

const identity = (value) => value;

function formFrom(bytes, mimeType) {
  const { formFromEntries } = forms.use();
  if (mimeType !== null) {
    if (mimeType.essence === "multipart/form-data") {
      return formFromEntries(multipart.use().parseMultipart(bytes, mimeType.parameters.get("boundary")));
    }
    if (mimeType.essence === "application/x-www-form-urlencoded") {
      return formFromEntries(op_url_form_parse(op_text_decode("utf-8", bytes, false, true)));
    }
  }
  throw new TypeError("Failed to execute 'formData': The content type is not that of a form");
}

/**
 * Gives a class the members of Body. `bodyOf(object)` returns its InnerBody or null, and `contentTypeOf(object)` the
 * value of its Content-Type header or null; both throw a TypeError for objects of other classes.
 */
function mixinBody(Class, bodyOf, contentTypeOf) {
  const toBlob = (bytes, owner) => {
    const { extractMimeType, serializeMimeType } = mime.use();
    const mimeType = extractMimeType(contentTypeOf(owner));
    return blobs.use().blobFromBytes(bytes, mimeType === null ? "" : serializeMimeType(mimeType));
  };
  const toForm = (bytes, owner) => formFrom(bytes, mime.use().extractMimeType(contentTypeOf(owner)));
  const members = {
    get body() {
      const body = bodyOf(this);
      return body === null ? null : streamOf(body);
    },
    get bodyUsed() {
      const body = bodyOf(this);
      return body !== null && isUsed(body);
    },
    arrayBuffer() {
      try {
        return consumeBytes(bodyOf(this), this, "arrayBuffer", exactBuffer);
      } catch (error) {
        return PromiseReject(error);
      }
    },
    blob() {
      try {
        return consumeBytes(bodyOf(this), this, "blob", toBlob);
      } catch (error) {
        return PromiseReject(error);
      }
    },
    bytes() {
      try {
        return consumeBytes(bodyOf(this), this, "bytes", identity);
      } catch (error) {
        return PromiseReject(error);
      }
    },
    formData() {
      try {
        return consumeBytes(bodyOf(this), this, "formData", toForm);
      } catch (error) {
        return PromiseReject(error);
      }
    },
    json() {
      try {
        return consumeJson(bodyOf(this), this);
      } catch (error) {
        return PromiseReject(error);
      }
    },
    textStream() {
      const body = bodyOf(this);
      const { decodeStream } = textStreams.use();
      if (body === null) return decodeStream(streams.use().streamFromBytes(new Uint8Array(0)));
      checkUsable(body, "textStream");
      return decodeStream(streamOf(body));
    },
    text() {
      try {
        return consumeText(bodyOf(this), this, "text", identity);
      } catch (error) {
        return PromiseReject(error);
      }
    },
  };
  ObjectDefineProperties(Class.prototype, ObjectGetOwnPropertyDescriptors(members));
}

module.exports = { mixinBody };
