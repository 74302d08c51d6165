// Shared by all apps of the soak: names of the app and of the request. Copied into every app's folder.
import { NAME } from "./name.js";

// There is one app in a realm: another name here comes from another app.
globalThis.owner ??= NAME;

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const parameter = (request, name) => new URL(request.url).searchParams.get(name);
export const way = (request) => Number(parameter(request, "way"));

// Part of every response: the app by its code, by its globals and by the prefix that was asked for; the request by the url
// and by a header.
export function mark(request) {
  const addressed = request.headers.get("x-base").slice(1);
  return [NAME, globalThis.owner, addressed, parameter(request, "nonce"), request.headers.get("x-request-id")].join(" ");
}

export const answer = (request, body = mark(request)) => new Response(body, { headers: { "x-soak": mark(request) } });
