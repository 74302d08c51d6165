// @ts-check
"use strict";
// HTMLRewriter as Cloudflare Workers have it: https://developers.cloudflare.com/workers/runtime-apis/html-rewriter/.
//
// Deviations: a selector list and a token that is not complete may take a few megabytes at most (src/html_rewriter/mod.rs);
// handlers of a slice (16 kB, or fewer bytes with 128 tags) have all run before its output is made, so that an error in one
// of them costs the output of that slice. A transformed response has no Content-Length.

const { ArrayPrototypePush, TypeError } = require("primordials");
const webidl = require("webidl");
const { extractMimeType } = require("infra/mime");
const { getHeader, headersFromList } = require("fetch/headers");
const { isUnusable, streamOf } = require("fetch/inner_body");
const { Response, bodyOf, headerListOf, isResponse } = require("fetch/response");
const { statusOf, statusTextOf } = require("fetch/response_parts");
const { rewrittenStream } = require("html_rewriter/source");
const { op_html_selector } = require("ops");

const { converters } = webidl;
// The callbacks that handlers have, as src/html_rewriter/mod.rs counts them.
const FIRST = 1, COMMENTS = 2, TEXT = 4, END = 8;

const toCallback = webidl.createCallbackConverter("handler");
const toElementHandlers = webidl.createDictionaryConverter("ElementContentHandlers", [
  { key: "element", converter: toCallback },
  { key: "comments", converter: toCallback },
  { key: "text", converter: toCallback },
]);
const toDocumentHandlers = webidl.createDictionaryConverter("DocumentContentHandlers", [
  { key: "doctype", converter: toCallback },
  { key: "comments", converter: toCallback },
  { key: "text", converter: toCallback },
  { key: "end", converter: toCallback },
]);

function flagsOf(members, first) {
  return (first !== undefined ? FIRST : 0) | (members.comments !== undefined ? COMMENTS : 0)
    | (members.text !== undefined ? TEXT : 0) | (members.end !== undefined ? END : 0);
}

function encodingOf(headers) {
  const type = extractMimeType(getHeader(headers, "content-type"));
  const charset = type === null ? undefined : type.parameters.get("charset");
  return charset === undefined ? "utf-8" : charset;
}

function withoutLength(headers) {
  const list = [];
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] !== "content-length") ArrayPrototypePush(list, headers[i], headers[i + 1]);
  }
  return list;
}

class HTMLRewriter {
  #handlers = [];

  on(selector, handlers) {
    const prefix = "Failed to execute 'on' on 'HTMLRewriter'";
    const list = this.#handlers;
    webidl.requiredArguments(arguments.length, 2, prefix);
    const text = converters.USVString(selector, prefix, "Argument 1");
    const object = converters.object(handlers, prefix, "Argument 2");
    const members = toElementHandlers(object, prefix, "Argument 2");
    op_html_selector(text);
    ArrayPrototypePush(list, { __proto__: null, selector: text, callbacks: flagsOf(members, members.element), members, object });
    return this;
  }

  onDocument(handlers) {
    const prefix = "Failed to execute 'onDocument' on 'HTMLRewriter'";
    const list = this.#handlers;
    webidl.requiredArguments(arguments.length, 1, prefix);
    const object = converters.object(handlers, prefix, "Argument 1");
    const members = toDocumentHandlers(object, prefix, "Argument 1");
    ArrayPrototypePush(list, { __proto__: null, selector: undefined, callbacks: flagsOf(members, members.doctype), members, object });
    return this;
  }

  transform(response) {
    const prefix = "Failed to execute 'transform' on 'HTMLRewriter'";
    const all = this.#handlers;
    webidl.requiredArguments(arguments.length, 1, prefix);
    if (!isResponse(response)) throw webidl.conversionError(prefix, "Argument 1", "is not of type 'Response'");
    const body = bodyOf(response);
    if (body === null) return response;
    if (isUnusable(body)) throw new TypeError(`${prefix}: The body has been read already, or is locked`);
    const headers = headerListOf(response);
    // What is added later is for later responses.
    const handlers = [];
    for (let i = 0; i < all.length; i++) ArrayPrototypePush(handlers, all[i]);
    const stream = rewrittenStream(streamOf(body), encodingOf(headers), handlers);
    return new Response(stream, {
      __proto__: null, status: statusOf(response), statusText: statusTextOf(response),
      headers: headersFromList(withoutLength(headers), "response"),
    });
  }
}
webidl.configureInterface(HTMLRewriter);

module.exports = { HTMLRewriter };
