"use strict";
// Small functions of Bun's global object (https://bun.sh/docs/api/utils) over the web platform and Node's modules.
//
// Deviations: `inspect` writes as node:util does; `inflateSync` and `gunzipSync` fail with node:zlib's errors; `password` throws.

function sleep(time) {
  const milliseconds = time instanceof Date ? time.getTime() - Date.now() : time;
  if (typeof milliseconds !== "number") throw new TypeError("sleep expects a number (milliseconds)");
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, milliseconds)));
}

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" };

function escapeHTML(value) {
  return `${value}`.replace(/[&<>"']/g, (char) => ESCAPES[char]);
}

function nanoseconds() {
  return Math.trunc(performance.now() * 1e6);
}

// ---- Compression. `deflateSync` and `inflateSync` are without a header, as in Bun.

function codec(name) {
  return (data, options) => {
    if (typeof data !== "string" && !ArrayBuffer.isView(data) && !(data instanceof ArrayBuffer)) {
      const { ERR_INVALID_ARG_TYPE } = require("internal/errors").codes;
      throw new ERR_INVALID_ARG_TYPE("data", ["string", "ArrayBuffer", "ArrayBufferView"], data);
    }
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    return new Uint8Array(require("zlib")[name](bytes, options));
  };
}

// ---- Streams

const readableStreamToText = (stream) => new Response(stream).text();
const readableStreamToJSON = (stream) => new Response(stream).json();
const readableStreamToBytes = (stream) => new Response(stream).bytes();
const readableStreamToArrayBuffer = (stream) => new Response(stream).arrayBuffer();
const readableStreamToBlob = (stream) => new Response(stream).blob();
const readableStreamToArray = (stream) => Array.fromAsync(stream);

// ---- Passwords

function noPasswords() {
  throw new Error("Bun.password is not available in Hearth: use scrypt or pbkdf2 of node:crypto, or a package such as bcryptjs");
}

const password = { hash: noPasswords, hashSync: noPasswords, verify: noPasswords, verifySync: noPasswords };

module.exports = {
  deflateSync: codec("deflateRawSync"),
  escapeHTML,
  fileURLToPath: (url) => require("url").fileURLToPath(url),
  // The engine collects when it wants to: nothing is freed by being asked.
  gc: () => 0,
  gunzipSync: codec("gunzipSync"),
  gzipSync: codec("gzipSync"),
  inflateSync: codec("inflateRawSync"),
  get inspect() { return require("util").inspect; },
  nanoseconds,
  password,
  pathToFileURL: (path) => require("url").pathToFileURL(path),
  readableStreamToArray,
  readableStreamToArrayBuffer,
  readableStreamToBlob,
  readableStreamToBytes,
  readableStreamToJSON,
  readableStreamToText,
  sleep,
  stripANSI: (text) => require("util").stripVTControlCharacters(text),
};
