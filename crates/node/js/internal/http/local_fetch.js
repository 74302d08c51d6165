"use strict";
// fetch() to a server of this worker, in memory: a Request becomes a ClientRequest, whose response becomes a Response.
//
// Deviations: the request's body is read to its end before it is sent; `url` and `redirected` of the response are empty.

const { Buffer } = require("buffer");
const { ClientRequest } = require("_http_client");

const MAX_REDIRECTS = 20;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const WITHOUT_BODY = new Set([204, 205, 304]);

async function fetchLocal(request) {
  let { method, url } = request;
  let body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer());
  const headers = Object.fromEntries(request.headers);
  headers.accept ??= "*/*";
  for (let count = 0; count <= MAX_REDIRECTS; count++) {
    const message = await send(url, method, headers, body, request.signal);
    const { location } = message.headers;
    if (request.redirect === "manual" || !REDIRECTS.has(message.statusCode) || location === undefined) return responseOf(message);
    message.destroy();
    if (request.redirect === "error") throw new TypeError(`fetch failed: ${url} redirects`);
    url = new URL(location, url).href;
    if (message.statusCode === 303 || (message.statusCode < 303 && method === "POST")) {
      if (method !== "HEAD") method = "GET";
      body = undefined;
      delete headers["content-type"];
      delete headers["content-length"];
    }
    if (!binding("http").isLocal(url)) return fetch(url, { method, headers, body, signal: request.signal, redirect: request.redirect });
  }
  throw new TypeError(`fetch failed: there were more than ${MAX_REDIRECTS} redirects`);
}

function send(url, method, headers, body, signal) {
  return new Promise((resolve, reject) => {
    const fail = (error) => reject(signal.aborted ? signal.reason : new TypeError(`fetch failed: ${error.message}`, { cause: error }));
    const made = new ClientRequest(url, { method, headers, signal, agent: undefined });
    made.on("response", resolve);
    made.on("error", fail);
    made.end(body);
  });
}

function responseOf(message) {
  const headers = new Headers();
  for (let i = 0; i < message.rawHeaders.length; i += 2) headers.append(message.rawHeaders[i], message.rawHeaders[i + 1]);
  const { statusCode: status, statusMessage: statusText } = message;
  const body = WITHOUT_BODY.has(status) ? null : bodyOf(message);
  if (body === null) message.resume();
  return new Response(body, { status, statusText, headers });
}

function bodyOf(message) {
  return new ReadableStream({
    type: "bytes",
    start(controller) {
      message.on("data", (chunk) => {
        controller.enqueue(new Uint8Array(chunk));
        if (controller.desiredSize <= 0) message.pause();
      });
      message.on("end", () => {
        controller.close();
        controller.byobRequest?.respond(0);
      });
      message.on("error", (error) => controller.error(error));
      message.pause();
    },
    pull() {
      message.resume();
    },
    cancel() {
      message.destroy();
    },
  });
}

module.exports = { fetchLocal };
