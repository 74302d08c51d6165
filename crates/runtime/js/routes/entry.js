// @ts-check
"use strict";
// What a route can be: a Response, a Blob, a file of the app, a handler, a map of methods to these, or nothing (false and
// null: `fetch` answers there). Values are looked at once, when the app is loaded.
//
// A Response is kept as it was then, and each request gets a clone of it; a body that is a stream is read to its end
// once, from the moment the app is loaded, and requests that come before that end wait for it.

const {
  ArrayIsArray, ArrayPrototypeJoin, ArrayPrototypePush, FunctionPrototypeCall, ObjectKeys, PromisePrototypeThen,
  SafeMap, StringPrototypeToUpperCase, markPromiseAsHandled,
} = require("primordials");
const { isHttpToken } = require("infra/bytes");
const { BODY_BYTES, BODY_STREAM, discardBody } = require("fetch/inner_body");
const { Response, bodyOf, clone, isResponse } = require("fetch/response");
const { refuse } = require("routes/pattern");

const blobs = lazy("file/blob");
const appFiles = lazy("file/app_file");
const streams = lazy("streams/native");

const HANDLER = 0, FIXED = 1, FILE = 2, METHODS = 3, NOTHING = 4;

class Entry {
  kind;
  /** The function, the Response, the file, the map of methods to entries. */
  value;
  /** @type {any} Of FIXED: the promise for its body, until it is there. Of METHODS: what Allow says. */
  extra;

  constructor(kind, value, extra = undefined) {
    this.kind = kind;
    this.value = value;
    this.extra = extra;
  }
}

/** @param {string} route Its name in errors. */
function compileEntry(route, value) {
  if (typeof value === "function") return new Entry(HANDLER, value);
  if (value === false || value === null) return new Entry(NOTHING, undefined);
  if (isResponse(value)) return fixedEntry(route, value);
  if (appFiles.exports !== undefined && appFiles.exports.isAppFile(value)) return new Entry(FILE, value);
  if (blobs.exports !== undefined && blobs.exports.isBlob(value)) return new Entry(FIXED, new Response(value));
  if (typeof value === "object" && !ArrayIsArray(value)) return methodsEntry(route, value);
  return refuse(route, "must be a Response, a Blob, a function, a map of methods to these, or false");
}

function methodsEntry(route, map) {
  const methods = new SafeMap();
  const allowed = [];
  const names = ObjectKeys(map);
  for (let i = 0; i < names.length; i++) {
    const method = names[i];
    if (!isHttpToken(method) || StringPrototypeToUpperCase(method) !== method) {
      refuse(route, `has the key '${method}', which is no method: methods are written like GET`);
    }
    const value = map[method];
    const entry = compileEntry(`${method} of ${route}`, value);
    if (entry.kind === METHODS) refuse(`${method} of ${route}`, "must not be a map of methods itself");
    methods.set(method, entry);
    ArrayPrototypePush(allowed, method);
  }
  if (allowed.length === 0) {
    refuse(route, "must be a Response, a Blob, a function, a map of methods to these, or false; this object has no methods");
  }
  if (methods.has("GET") && !methods.has("HEAD")) {
    methods.set("HEAD", methods.get("GET"));
    ArrayPrototypePush(allowed, "HEAD");
  }
  return new Entry(METHODS, methods, ArrayPrototypeJoin(allowed, ", "));
}

function fixedEntry(route, response) {
  let copy;
  try {
    copy = FunctionPrototypeCall(clone, response);
  } catch {
    refuse(route, "is a Response whose body has been read already, or is locked");
  }
  const body = bodyOf(copy);
  // Once more, since a body that has been looked at is slower to send than text that has not.
  if (body === null || body.kind !== BODY_STREAM) return new Entry(FIXED, FunctionPrototypeCall(clone, response));
  discardBody(bodyOf(response), undefined);
  const entry = new Entry(FIXED, copy);
  entry.extra = PromisePrototypeThen(streams.use().readAllBytes(body.stream), (bytes) => {
    body.kind = BODY_BYTES;
    body.value = bytes;
    body.shared = true;
    body.stream = null;
    entry.extra = undefined;
  });
  // Requests hear of a failure.
  markPromiseAsHandled(entry.extra);
  return entry;
}

/** A fresh Response for a request, or the promise of one. */
function fixedResponse(entry) {
  if (entry.extra === undefined) return FunctionPrototypeCall(clone, entry.value);
  return PromisePrototypeThen(entry.extra, () => FunctionPrototypeCall(clone, entry.value));
}

module.exports = { HANDLER, FIXED, FILE, METHODS, NOTHING, compileEntry, fixedResponse };
