"use strict";
// The headers of an outgoing message (https://nodejs.org/api/http.html#class-httpoutgoingmessage): what is set until the head is
// sent, and the checks of names and values.

const { codes } = require("internal/errors");
const { validateString } = require("internal/validators");
const { _checkInvalidHeaderChar: hasInvalidChar, _checkIsHttpToken: isToken } = require("_http_common");

const {
  ERR_HTTP_HEADERS_SENT, ERR_HTTP_INVALID_HEADER_VALUE, ERR_INVALID_ARG_TYPE, ERR_INVALID_CHAR, ERR_INVALID_HTTP_TOKEN,
} = codes;

/** Names in lower case to [name as given, value]; null until there is one. */
const kOutHeaders = Symbol("outHeaders");
/** The head as a flat list, once it is known. */
const kHead = Symbol("head");

const methods = {};

function validateHeaderName(name, label) {
  if (typeof name !== "string" || !name || !isToken(name)) throw new ERR_INVALID_HTTP_TOKEN(label || "Header name", name);
}

function validateHeaderValue(name, value) {
  if (value === undefined) throw new ERR_HTTP_INVALID_HEADER_VALUE(value, name);
  if (hasInvalidChar(value)) throw new ERR_INVALID_CHAR("header content", name);
}

function checkUnsent(message, verb) {
  if (message[kHead] !== null) throw new ERR_HTTP_HEADERS_SENT(verb);
}

methods.setHeader = function setHeader(name, value) {
  checkUnsent(this, "set");
  validateHeaderName(name);
  validateHeaderValue(name, value);
  (this[kOutHeaders] ??= { __proto__: null })[name.toLowerCase()] = [name, value];
  return this;
};

methods.setHeaders = function setHeaders(headers) {
  checkUnsent(this, "set");
  if (!headers || Array.isArray(headers) || typeof headers.keys !== "function" || typeof headers.get !== "function") {
    throw new ERR_INVALID_ARG_TYPE("headers", ["Headers", "Map"], headers);
  }
  // Each set-cookie is an entry of its own.
  const cookies = [];
  for (const [name, value] of headers) {
    if (name === "set-cookie") cookies.push(...(Array.isArray(value) ? value : [value]));
    else this.setHeader(name, value);
  }
  if (cookies.length > 0) this.setHeader("set-cookie", cookies);
  return this;
};

methods.appendHeader = function appendHeader(name, value) {
  checkUnsent(this, "append");
  validateHeaderName(name);
  validateHeaderValue(name, value);
  const headers = (this[kOutHeaders] ??= { __proto__: null });
  const entry = headers[name.toLowerCase()];
  if (entry === undefined) headers[name.toLowerCase()] = [name, value];
  else entry[1] = [].concat(entry[1], value);
  return this;
};

methods.getHeader = function getHeader(name) {
  validateString(name, "name");
  return this[kOutHeaders]?.[name.toLowerCase()]?.[1];
};

methods.hasHeader = function hasHeader(name) {
  validateString(name, "name");
  return this[kOutHeaders] !== null && this[kOutHeaders][name.toLowerCase()] !== undefined;
};

methods.removeHeader = function removeHeader(name) {
  validateString(name, "name");
  checkUnsent(this, "remove");
  const key = name.toLowerCase();
  if (key === "connection") this._removedConnection = true;
  else if (key === "content-length") this._removedContLen = true;
  else if (key === "transfer-encoding") this._removedTE = true;
  else if (key === "date") this.sendDate = false;
  if (this[kOutHeaders] !== null) delete this[kOutHeaders][key];
};

methods.getHeaderNames = function getHeaderNames() {
  return Object.keys(this[kOutHeaders] ?? {});
};

methods.getRawHeaderNames = function getRawHeaderNames() {
  return Object.values(this[kOutHeaders] ?? {}).map((entry) => entry[0]);
};

methods.getHeaders = function getHeaders() {
  const headers = { __proto__: null };
  for (const name in this[kOutHeaders] ?? {}) headers[name] = this[kOutHeaders][name][1];
  return headers;
};

/** [name, value, ...] of all headers that are set. */
function flatHeaders(message) {
  const list = [];
  const headers = message[kOutHeaders];
  if (headers === null) return list;
  for (const key in headers) {
    const [name, value] = headers[key];
    if (!Array.isArray(value)) list.push(name, typeof value === "string" ? value : `${value}`);
    else if (key === "cookie") list.push(name, value.join("; "));
    else for (const one of value) list.push(name, `${one}`);
  }
  return list;
}

methods.addTrailers = function addTrailers(headers) {
  const list = Array.isArray(headers) ? headers : Object.entries(headers);
  for (const [name, value] of list) {
    validateHeaderName(name, "Trailer name");
    if (hasInvalidChar(value)) throw new ERR_INVALID_CHAR("trailer content", name);
    this._trailer += `${name}: ${value}\r\n`;
  }
};

function addHeaderMethods(Message) {
  for (const name of Object.keys(methods)) Message.prototype[name] = methods[name];
}

module.exports = { addHeaderMethods, flatHeaders, kHead, kOutHeaders, validateHeaderName, validateHeaderValue };
