// @ts-check
"use strict";
// https://fetch.spec.whatwg.org/#requestinit: the options of `new Request` and fetch(), and what settings they make.

const { StringPrototypeToUpperCase, TypeError } = require("primordials");
const webidl = require("webidl");
const { isHttpToken } = require("infra/bytes");
const { parseHref } = require("url/url");
const { convertHeadersInit } = require("fetch/headers");
const { convertBodyInit } = require("fetch/inner_body");

const aborts = lazy("dom/abort");
const isSignal = (value) => aborts.exports !== undefined && aborts.exports.isSignal(value);

const nullable = webidl.createNullableConverter;
const { ByteString, DOMString, USVString } = webidl.converters;

const toRequestInit = webidl.createDictionaryConverter("RequestInit", [
  { key: "body", converter: nullable(convertBodyInit) },
  { key: "cache", converter: webidl.createEnumConverter("RequestCache", [
    "default", "no-store", "reload", "no-cache", "force-cache", "only-if-cached",
  ]) },
  { key: "credentials", converter: webidl.createEnumConverter("RequestCredentials", ["omit", "same-origin", "include"]) },
  { key: "duplex", converter: webidl.createEnumConverter("RequestDuplex", ["half"]) },
  { key: "headers", converter: convertHeadersInit },
  { key: "integrity", converter: DOMString },
  { key: "keepalive", converter: webidl.converters.boolean },
  { key: "method", converter: ByteString },
  { key: "mode", converter: webidl.createEnumConverter("RequestMode", ["navigate", "same-origin", "no-cors", "cors"]) },
  { key: "priority", converter: webidl.createEnumConverter("RequestPriority", ["high", "low", "auto"]) },
  { key: "redirect", converter: webidl.createEnumConverter("RequestRedirect", ["follow", "error", "manual"]) },
  { key: "referrer", converter: USVString },
  { key: "referrerPolicy", converter: webidl.createEnumConverter("ReferrerPolicy", [
    "", "no-referrer", "no-referrer-when-downgrade", "same-origin", "origin", "strict-origin", "origin-when-cross-origin",
    "strict-origin-when-cross-origin", "unsafe-url",
  ]) },
  { key: "signal", converter: nullable(webidl.createInterfaceConverter("AbortSignal", isSignal)) },
  { key: "window", converter: webidl.converters.any },
]);

/** The settings that `options` make of `from`. */
function applySettings(options, from, prefix) {
  if (options.window !== undefined && options.window !== null) throw new TypeError(`${prefix}: 'window' must be null`);
  if (options.mode === "navigate") throw new TypeError(`${prefix}: 'navigate' is not a mode to make requests with`);
  let referrer = options.referrer;
  if (referrer !== undefined && referrer !== "") {
    const href = parseHref(referrer);
    if (href === undefined) throw new TypeError(`${prefix}: Invalid referrer: '${referrer}'`);
    referrer = href;
  }
  const pick = (given, otherwise) => (given === undefined ? otherwise : given);
  const settings = {
    __proto__: null,
    cache: pick(options.cache, from.cache),
    credentials: pick(options.credentials, from.credentials),
    integrity: pick(options.integrity, from.integrity),
    keepalive: pick(options.keepalive, from.keepalive),
    mode: pick(options.mode, from.mode),
    redirect: pick(options.redirect, from.redirect),
    referrer: pick(referrer, from.referrer),
    referrerPolicy: pick(options.referrerPolicy, from.referrerPolicy),
  };
  if (settings.cache === "only-if-cached" && settings.mode !== "same-origin") {
    throw new TypeError(`${prefix}: 'only-if-cached' is for the mode 'same-origin'`);
  }
  return settings;
}

function normalizeMethod(method, prefix) {
  const upper = StringPrototypeToUpperCase(method);
  switch (upper) {
    case "GET":
    case "POST":
    case "PUT":
    case "DELETE":
    case "HEAD":
    case "OPTIONS":
      return upper;
    case "CONNECT":
    case "TRACE":
    case "TRACK":
      throw new TypeError(`${prefix}: '${method}' is not allowed as a method`);
    default:
      if (!isHttpToken(method)) throw new TypeError(`${prefix}: '${method}' is not a method`);
      return method;
  }
}

module.exports = { toRequestInit, applySettings, normalizeMethod };
