// Calls of the admin API. An error response throws an `ApiError` with the server's message; no response throws
// `Lost`; a response that the session has ended also emits an event on `session`.

import { connection } from "./connection.js";

/** Timeout of reads; actions have none. */
const READ_TIMEOUT = 30_000;

export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export class Lost extends Error {
  constructor() {
    super("the server does not answer");
  }
}

/** Emits `ended` when the session's cookie is no longer valid. */
export const session = new EventTarget();

export const app = (name, rest = "") => `/admin/apps/${encodeURIComponent(name)}${rest}`;

export async function get(path, signal) {
  return (await call("GET", path, { signal })).json();
}

export async function getText(path, signal) {
  return (await call("GET", path, { signal })).text();
}

/** Sends an action: POST, PUT or DELETE. */
export async function send(method, path, body) {
  return (await call(method, path, { body })).json();
}

export async function logIn(token) {
  await call("POST", "/admin/login", { body: token });
}

export async function logOut() {
  await call("POST", "/admin/logout", {});
}

/** Sends a file; `progress` is called with the part that is sent, from 0 to 1. */
export function upload(path, file, progress) {
  // Not fetch, which does not report the progress of a request's body.
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) progress(event.loaded / event.total);
    });
    request.addEventListener("error", () => {
      connection.state = "lost";
      reject(new Lost());
    });
    request.addEventListener("load", () => {
      connection.state = "live";
      if (request.status < 300) resolve(JSON.parse(request.responseText));
      else reject(failure(path, request.status, request.responseText));
    });
    request.send(file);
  });
}

async function call(method, path, { body, signal }) {
  const signals = [signal, method === "GET" ? AbortSignal.timeout(READ_TIMEOUT) : null].filter(Boolean);
  const headers = body === undefined ? {} : { "content-type": "text/plain; charset=utf-8" };
  let response;
  try {
    response = await fetch(path, { method, body, headers, cache: "no-store", signal: AbortSignal.any(signals) });
  } catch (error) {
    if (signal?.aborted) throw error;
    connection.state = "lost";
    throw new Lost();
  }
  connection.state = "live";
  if (response.ok) return response;
  throw failure(path, response.status, await response.text().catch(() => ""));
}

function failure(path, status, text) {
  let said;
  try {
    said = JSON.parse(text).error;
  } catch {
    // A proxy has answered, not the server.
  }
  if (status === 401 && path !== "/admin/login") session.dispatchEvent(new Event("ended"));
  return new ApiError(status, said?.code ?? "unknown", said?.message ?? `the server answered with status ${status}`);
}
