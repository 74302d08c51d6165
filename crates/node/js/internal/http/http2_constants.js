"use strict";
// `http2.constants` (https://nodejs.org/api/http2.html#http2constants): names of headers and methods, status codes, and the error
// codes of RFC 9113.

const { methods } = require("_http_common");
const STATUS_CODES = require("internal/http/status_codes");

const HEADERS = [
  "accept", "accept-charset", "accept-encoding", "accept-language", "accept-ranges", "access-control-allow-credentials",
  "access-control-allow-headers", "access-control-allow-methods", "access-control-allow-origin", "access-control-expose-headers",
  "access-control-max-age", "access-control-request-headers", "access-control-request-method", "age", "allow", "alt-svc",
  "authorization", "cache-control", "connection", "content-disposition", "content-encoding", "content-language", "content-length",
  "content-location", "content-md5", "content-range", "content-security-policy", "content-type", "cookie", "date", "dnt", "early-data",
  "etag", "expect", "expect-ct", "expires", "forwarded", "from", "host", "http2-settings", "if-match", "if-modified-since",
  "if-none-match", "if-range", "if-unmodified-since", "keep-alive", "last-modified", "link", "location", "max-forwards", "origin",
  "prefer", "priority", "proxy-authenticate", "proxy-authorization", "proxy-connection", "purpose", "range", "referer", "refresh",
  "retry-after", "server", "set-cookie", "strict-transport-security", "te", "timing-allow-origin", "tk", "trailer",
  "transfer-encoding", "upgrade", "upgrade-insecure-requests", "user-agent", "vary", "via", "warning", "www-authenticate",
  "x-content-type-options", "x-forwarded-for", "x-frame-options", "x-xss-protection",
];
const PSEUDO = ["status", "method", "authority", "scheme", "path", "protocol"];
const ERRORS = [
  "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED", "FRAME_SIZE_ERROR",
  "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
];

const upper = (text) => text.replaceAll(/[' ]+m a /g, " ").replaceAll(/[^A-Za-z0-9]+/g, "_").toUpperCase();

const constants = {};
for (const name of PSEUDO) constants[`HTTP2_HEADER_${upper(name)}`] = `:${name}`;
for (const name of HEADERS) constants[`HTTP2_HEADER_${upper(name)}`] = name;
for (const name of methods) constants[`HTTP2_METHOD_${upper(name)}`] = name;
for (const code of Object.keys(STATUS_CODES)) constants[`HTTP_STATUS_${code === "418" ? "TEAPOT" : upper(STATUS_CODES[code])}`] = +code;
ERRORS.forEach((name, code) => {
  constants[`NGHTTP2_${name}`] = code;
});

module.exports = constants;
