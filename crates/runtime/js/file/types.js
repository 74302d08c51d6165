// @ts-check
"use strict";
// The MIME types of files, by their extension. Text is UTF-8: that is what apps' files are. No ops.

const { SafeMap, StringPrototypeLastIndexOf, StringPrototypeSlice, StringPrototypeToLowerCase } = require("primordials");

const UTF8 = ";charset=utf-8";
const BYTES = "application/octet-stream";

const types = new SafeMap([
  ["html", `text/html${UTF8}`], ["htm", `text/html${UTF8}`], ["css", `text/css${UTF8}`], ["csv", `text/csv${UTF8}`],
  ["txt", `text/plain${UTF8}`], ["md", `text/markdown${UTF8}`], ["xml", `application/xml${UTF8}`], ["ics", `text/calendar${UTF8}`],
  ["js", `text/javascript${UTF8}`], ["mjs", `text/javascript${UTF8}`], ["json", `application/json${UTF8}`],
  ["map", `application/json${UTF8}`], ["jsonld", `application/ld+json${UTF8}`],
  ["webmanifest", `application/manifest+json${UTF8}`], ["yaml", `application/yaml${UTF8}`], ["yml", `application/yaml${UTF8}`],
  ["svg", "image/svg+xml"], ["png", "image/png"], ["jpg", "image/jpeg"], ["jpeg", "image/jpeg"], ["gif", "image/gif"],
  ["webp", "image/webp"], ["avif", "image/avif"], ["ico", "image/x-icon"], ["bmp", "image/bmp"],
  ["woff", "font/woff"], ["woff2", "font/woff2"], ["ttf", "font/ttf"], ["otf", "font/otf"],
  ["mp3", "audio/mpeg"], ["ogg", "audio/ogg"], ["wav", "audio/wav"], ["flac", "audio/flac"], ["m4a", "audio/mp4"],
  ["mp4", "video/mp4"], ["webm", "video/webm"], ["mov", "video/quicktime"],
  ["pdf", "application/pdf"], ["wasm", "application/wasm"], ["zip", "application/zip"], ["gz", "application/gzip"],
  ["tar", "application/x-tar"],
]);

function typeOfPath(path) {
  const name = StringPrototypeSlice(path, StringPrototypeLastIndexOf(path, "/") + 1);
  const dot = StringPrototypeLastIndexOf(name, ".");
  // A name that begins with its only dot has no extension.
  if (dot <= 0) return BYTES;
  const type = types.get(StringPrototypeToLowerCase(StringPrototypeSlice(name, dot + 1)));
  return type === undefined ? BYTES : type;
}

module.exports = { typeOfPath };
