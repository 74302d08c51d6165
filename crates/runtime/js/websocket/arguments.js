// @ts-check
"use strict";
// What `new WebSocket`, `send` and `close` are given (https://websockets.spec.whatwg.org/#the-websocket-interface), checked
// and converted.

const {
  ArrayBufferIsView, StringPrototypeIndexOf, StringPrototypeSlice, StringPrototypeToLowerCase, SymbolIterator,
  TypedArrayPrototypeGetByteLength,
} = require("primordials");
const { op_text_encode } = require("ops");
const webidl = require("webidl");
const { converters } = webidl;
const { DOMException } = require("dom/exception");
const { asBytes, isHttpToken } = require("infra/bytes");
const { parseHref } = require("url/url");

const blobs = lazy("file/blob");

const MOST_REASON = 123;

function syntaxError(prefix, message) {
  return new DOMException(`${prefix}: ${message}`, "SyntaxError");
}

/** The URL as the `url` attribute has it: its scheme is ws or wss. */
function convertUrl(url, prefix) {
  const text = converters.USVString(url, prefix, "Argument 1");
  const href = parseHref(text);
  if (href === undefined) throw syntaxError(prefix, `The URL '${text}' is invalid`);
  const colon = StringPrototypeIndexOf(href, ":");
  const rest = StringPrototypeSlice(href, colon);
  let scheme = StringPrototypeSlice(href, 0, colon);
  if (scheme === "http") scheme = "ws";
  else if (scheme === "https") scheme = "wss";
  if (scheme !== "ws" && scheme !== "wss") {
    throw syntaxError(prefix, `The scheme of '${href}' must be ws, wss, http or https`);
  }
  if (StringPrototypeIndexOf(rest, "#") !== -1) throw syntaxError(prefix, `The URL '${href}' has a fragment, which is not allowed`);
  return scheme + rest;
}

/** The same as HTTP knows it. */
function httpUrl(url) {
  return `http${StringPrototypeSlice(url, 2)}`;
}

/** Scheme, host and port. */
function originOf(url) {
  const start = StringPrototypeIndexOf(url, "://") + 3;
  const end = StringPrototypeIndexOf(url, "/", start);
  const authority = StringPrototypeSlice(url, start, end === -1 ? url.length : end);
  const at = StringPrototypeIndexOf(authority, "@");
  return StringPrototypeSlice(url, 0, start) + StringPrototypeSlice(authority, at + 1);
}

const toStrings = webidl.createSequenceConverter(converters.DOMString);

/** (DOMString or sequence<DOMString>): tokens, each once. */
function convertProtocols(protocols, prefix) {
  let list;
  if (protocols === undefined) list = [];
  else if (webidl.isObject(protocols) && protocols[SymbolIterator] !== undefined) list = toStrings(protocols, prefix, "Argument 2");
  else list = [converters.DOMString(protocols, prefix, "Argument 2")];
  const seen = { __proto__: null };
  for (let i = 0; i < list.length; i++) {
    const name = StringPrototypeToLowerCase(list[i]);
    if (!isHttpToken(list[i])) throw syntaxError(prefix, `The subprotocol '${list[i]}' is invalid`);
    if (seen[name]) throw syntaxError(prefix, `The subprotocol '${list[i]}' is there twice`);
    seen[name] = true;
  }
  return list;
}

/** (BufferSource or Blob or USVString), as op_websocket_send takes it. */
function convertMessage(data, prefix) {
  // Lone surrogates are replaced when it is encoded.
  if (typeof data === "string") return data;
  if (webidl.isObject(data)) {
    if (blobs.exports !== undefined && blobs.exports.isBlob(data)) return blobs.exports.blobBytes(data);
    if (ArrayBufferIsView(data) || webidl.isArrayBuffer(data)) return asBytes(converters.BufferSource(data, prefix, "Argument 1"));
  }
  return converters.USVString(data, prefix, "Argument 1");
}

function lengthOfMessage(message) {
  return TypedArrayPrototypeGetByteLength(typeof message === "string" ? op_text_encode(message) : message);
}

/** 0: none. Apps that serve may say what a server says; those that ask, what the standard lets a page say. */
function convertCode(code, mayServe, prefix) {
  if (code === undefined) return 0;
  code = converters["unsigned short"](code, prefix, "Argument 1", { __proto__: null, clamp: true });
  if (code === 1000 || (code >= 3000 && code <= 4999)) return code;
  if (mayServe && ((code >= 1001 && code <= 1003) || (code >= 1007 && code <= 1014))) return code;
  const which = mayServe ? "1000 to 1003, 1007 to 1014, or 3000 to 4999" : "1000, or 3000 to 4999";
  throw new DOMException(`${prefix}: The code must be ${which}; ${code} is not`, "InvalidAccessError");
}

function convertReason(reason, prefix) {
  if (reason === undefined) return "";
  reason = converters.USVString(reason, prefix, "Argument 2");
  if (lengthOfMessage(reason) > MOST_REASON) throw syntaxError(prefix, `The reason has more than ${MOST_REASON} bytes`);
  return reason;
}

module.exports = {
  convertUrl, httpUrl, originOf, convertProtocols, convertMessage, lengthOfMessage, convertCode, convertReason,
};
