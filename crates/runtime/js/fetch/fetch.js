// @ts-check
"use strict";
// https://fetch.spec.whatwg.org/#fetch-method. The network is behind op_fetch_*; this builds the request, minds its signal
// and makes the response. Redirects, content codings and the connection's own headers are the natives' business.
//
// Deviations, as servers want it: no CORS, no cookies, no cache, no referrer; "manual" redirects give the response as it
// came; blob: URLs are not there.

const {
  Promise, PromisePrototypeThen, PromiseReject, PromiseResolve, StringPrototypeIndexOf, StringPrototypeSlice, TypeError,
  Uint8Array,
} = require("primordials");
const { op_body_bytes, op_body_cancel, op_fetch_abort, op_fetch_head, op_fetch_start } = require("ops");
const webidl = require("webidl");
const { currentRequest } = require("request_scope");
const { copyList, hasHeader } = require("fetch/headers");
const { BODY_BYTES, BODY_NATIVE, InnerBody, bodyForNative, discardBody, failBody, onBodyEnd } = require("fetch/inner_body");
const { Request, bodyOf, headerListOf, methodOf, settingsOf, signalToMind, urlOf } = require("fetch/request");
const { bodyOf: responseBodyOf, responseFromNative } = require("fetch/response");

const aborts = lazy("dom/abort");
const dataUrls = lazy("fetch/data_url");
const integrities = lazy("fetch/integrity");
const servers = lazy("node/http");

function fetch(input, init = undefined) {
  try {
    webidl.requiredArguments(arguments.length, 1, "Failed to execute 'fetch'");
    const request = new Request(input, init);
    const signal = signalToMind(request);
    if (signal !== null && aborts.use().isAborted(signal)) {
      const reason = aborts.use().abortReason(signal);
      discardBody(bodyOf(request), reason);
      return PromiseReject(reason);
    }
    const url = urlOf(request);
    const scheme = StringPrototypeSlice(url, 0, StringPrototypeIndexOf(url, ":"));
    if (servers.exports !== undefined && servers.exports.isLocal(url)) return servers.exports.fetchFromLocal(request);
    if (scheme === "http" || scheme === "https") return fetchHttp(request, url, signal);
    if (scheme === "data") return fetchData(request, url);
    throw new TypeError(`fetch failed: The scheme of '${url}' is not supported`);
  } catch (error) {
    return PromiseReject(error);
  }
}

/** By the app's assets, without a network. */
function fetchAssets(request) {
  const signal = signalToMind(request);
  discardBody(bodyOf(request), undefined);
  return fetchHttp(request, urlOf(request), signal, "assets");
}

function fetchHttp(request, url, signal, answerer = undefined) {
  const { integrity, redirect } = settingsOf(request);
  const headers = copyList(headerListOf(request));
  if (!hasHeader(headers, "accept")) {
    headers[headers.length] = "accept";
    headers[headers.length] = "*/*";
  }
  const hash = StringPrototypeIndexOf(url, "#");
  const scope = currentRequest();
  const body = bodyForNative(answerer === undefined ? bodyOf(request) : null, scope);
  let id;
  try {
    const target = hash < 0 ? url : StringPrototypeSlice(url, 0, hash);
    id = op_fetch_start(scope, methodOf(request), target, headers, body[0], body[1], answerer ?? redirect);
  } catch (error) {
    // The writer of the body is told to stop.
    if (body[0] === BODY_NATIVE) op_body_cancel(body[1]);
    throw error;
  }
  let head = op_fetch_head(id);
  if (integrity !== "") head = PromisePrototypeThen(head, (value) => checkIntegrity(value, integrity));
  if (signal === null) return PromisePrototypeThen(head, responseFromNative, networkError);
  return minding(signal, id, head);
}

/** The response, unless `signal` aborts it; its body too. */
function minding(signal, id, head) {
  const { abortReason, addAbortAlgorithm, removeAbortAlgorithm } = aborts.use();
  return new Promise((resolve, reject) => {
    let body = null;
    const onAbort = () => {
      op_fetch_abort(id);
      const reason = abortReason(signal);
      if (body !== null) failBody(body, reason);
      reject(reason);
    };
    const forget = () => removeAbortAlgorithm(signal, onAbort);
    addAbortAlgorithm(signal, onAbort);
    PromisePrototypeThen(head, (value) => {
      const response = responseFromNative(value);
      body = responseBodyOf(response);
      if (body === null) forget();
      else onBodyEnd(body, forget);
      resolve(response);
    }, (error) => {
      forget();
      reject(asNetworkError(error));
    });
  });
}

function asNetworkError(error) {
  const message = webidl.isObject(error) && typeof error.message === "string" ? error.message : "network error";
  return new TypeError(`fetch failed: ${message}`, { __proto__: null, cause: error });
}

function networkError(error) {
  throw asNetworkError(error);
}

/** The same head with all of the body as bytes; throws if they are others than `integrity` says. */
function checkIntegrity(head, integrity) {
  return PromisePrototypeThen(PromiseResolve(head[5] === 0 ? new Uint8Array(0) : op_body_bytes(head[5])), (bytes) => {
    if (!integrities.use().bytesMatch(bytes, integrity)) throw new TypeError(`'${head[3]}' does not have the integrity '${integrity}'`);
    return [head[0], head[1], head[2], head[3], head[4], new InnerBody(BODY_BYTES, bytes)];
  });
}

function fetchData(request, url) {
  const data = dataUrls.use().readDataUrl(url);
  if (data === null) throw new TypeError("fetch failed: Invalid data: URL");
  const { integrity } = settingsOf(request);
  if (integrity !== "" && !integrities.use().bytesMatch(data.bytes, integrity)) {
    throw new TypeError("fetch failed: The integrity is another");
  }
  discardBody(bodyOf(request), undefined);
  const body = methodOf(request) === "HEAD" ? 0 : new InnerBody(BODY_BYTES, data.bytes);
  return PromiseResolve(responseFromNative([200, "OK", ["content-type", data.type], url, false, body]));
}

module.exports = { fetch, fetchAssets };
