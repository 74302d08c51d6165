// @ts-check
"use strict";
// `export default { routes }`: a fetch handler made of routes, with the app's own `fetch` for the
// rest. No standard has this; it is what Bun.serve's routes are. The path is that of request.url.
//
// A wrong method is 405 with Allow; GET handlers also serve HEAD, whose body the server does not
// send; OPTIONS goes to `fetch`, where there is one, unless its route has it. A path without a
// handler is 404. Both are JSON, as the server's own errors are.

const {
  FunctionPrototypeCall, JSONStringify, ObjectDefineProperty, ObjectKeys, TypeError,
} = require("primordials");
const { currentRequest } = require("request_scope");
const { Response } = require("fetch/response");
const { headerListOf, methodOf, urlOf } = require("fetch/request");
const { getHeader } = require("fetch/headers");
const { Table } = require("routes/table");
const { pathOfUrl } = require("routes/pattern");
const { FILE, FIXED, HANDLER, METHODS, NOTHING, compileEntry, fixedResponse } = require("routes/entry");

const blobs = lazy("file/blob");
const appFiles = lazy("file/app_file");
const streams = lazy("streams/native");

/** A fetch handler for `target`, whose `routes` they are. Throws a TypeError that names the route that is wrong. */
function createRouter(target, routes, onFetch) {
  if (typeof routes !== "object" || routes === null) {
    throw new TypeError("'routes' of the default export must be an object of paths to what answers there");
  }
  const table = new Table();
  const patterns = ObjectKeys(routes);
  for (let i = 0; i < patterns.length; i++) {
    const pattern = patterns[i];
    table.add(pattern, compileEntry(`'${pattern}'`, routes[pattern]));
  }

  function fallBack(request, env, ctx) {
    if (onFetch !== undefined) return FunctionPrototypeCall(onFetch, target, request, env, ctx);
    return errorResponse(request, 404, "no_route", "the app has no route for this path", undefined);
  }

  return function route(request, env, ctx) {
    const match = table.find(pathOfUrl(urlOf(request)));
    if (match === undefined) return fallBack(request, env, ctx);
    let { entry } = match;
    if (entry.kind === METHODS) {
      const method = methodOf(request);
      const found = entry.value.get(method);
      if (found === undefined) {
        if (method === "OPTIONS" && onFetch !== undefined) return fallBack(request, env, ctx);
        return errorResponse(request, 405, "method_not_allowed", `${method} is not possible here: use ${entry.extra}`, entry.extra);
      }
      entry = found;
    }
    switch (entry.kind) {
      case FIXED:
        return fixedResponse(entry);
      case HANDLER:
        // An own property: Request itself stays as the standard has it.
        ObjectDefineProperty(request, "params", {
          __proto__: null, value: match.params, writable: false, enumerable: true, configurable: true,
        });
        return FunctionPrototypeCall(entry.value, target, request, env, ctx);
      case FILE:
        return fileResponse(request, entry.value);
      case NOTHING:
      default:
        return fallBack(request, env, ctx);
    }
  };
}

function fileResponse(request, file) {
  const body = appFiles.use().openAppFile(file, currentRequest());
  if (body <= 0) return errorResponse(request, 404, "not_found", "there is nothing here", undefined);
  const type = blobs.use().blobType(file);
  const headers = type === "" ? undefined : { __proto__: null, "content-type": type };
  return new Response(streams.use().createNativeReadable(body), { __proto__: null, headers });
}

/** As the server's own errors look. */
function errorResponse(request, status, code, message, allow) {
  const error = { __proto__: null, code, message, request_id: getHeader(headerListOf(request), "x-request-id") ?? undefined };
  const headers = { __proto__: null, "content-type": "application/json", "cache-control": "no-store" };
  if (allow !== undefined) headers.allow = allow;
  return new Response(JSONStringify({ __proto__: null, error }), { __proto__: null, status, headers });
}

module.exports = { createRouter };
