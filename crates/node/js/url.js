"use strict";
// node:url (https://nodejs.org/api/url.html): the globals URL and URLSearchParams, paths of file: URLs, and the legacy API
// (internal/url/legacy.js).

const { ERR_INVALID_ARG_TYPE, ERR_INVALID_ARG_VALUE, ERR_INVALID_FILE_URL_HOST, ERR_INVALID_FILE_URL_PATH,
  ERR_INVALID_URL_SCHEME } = require("internal/errors");
const { validateString } = require("internal/validators");
const { Url, format: formatLegacy, parse, resolve, resolveObject } = require("internal/url/legacy");

/** What a host becomes in a URL; empty for what is no host. */
function domainToASCII(domain) {
  try {
    return new URL(`ws://${domain}`).hostname;
  } catch {
    return "";
  }
}

function domainToUnicode(domain) {
  return require("punycode").toUnicode(domainToASCII(domain));
}

function toFileUrl(path) {
  const url = typeof path === "string" ? new URL(path) : path;
  if (!(url instanceof URL) && (typeof url?.href !== "string" || typeof url?.protocol !== "string")) {
    throw new ERR_INVALID_ARG_TYPE("path", ["string", "URL"], path);
  }
  if (url.protocol !== "file:") throw new ERR_INVALID_URL_SCHEME("file");
  return url;
}

function fileURLToPath(path, options = undefined) {
  const url = toFileUrl(path);
  if (options?.windows) return windowsPath(url);
  if (url.hostname !== "") throw new ERR_INVALID_FILE_URL_HOST("linux");
  if (/%2f/i.test(url.pathname)) throw new ERR_INVALID_FILE_URL_PATH("must not include encoded / characters", url);
  return decodeURIComponent(url.pathname);
}

function windowsPath(url) {
  if (/%2f|%5c/i.test(url.pathname)) throw new ERR_INVALID_FILE_URL_PATH("must not include encoded \\ or / characters", url);
  const path = decodeURIComponent(url.pathname.replaceAll("/", "\\"));
  if (url.hostname !== "") return `\\\\${domainToUnicode(url.hostname)}${path}`;
  if (!/^\\[a-z]:/i.test(path)) throw new ERR_INVALID_FILE_URL_PATH("must be absolute", url);
  return path.slice(1);
}

function fileURLToPathBuffer(path, options = undefined) {
  const url = toFileUrl(path);
  if (options?.windows) return Buffer.from(windowsPath(url));
  return require("querystring").unescapeBuffer(url.pathname);
}

function pathToFileURL(path, options = undefined) {
  validateString(path, "path");
  const paths = require("path");
  const isWindows = !!options?.windows;
  let resolved = (isWindows ? paths.win32 : paths.posix).resolve(path);
  const last = path.at(-1);
  if ((last === "/" || (isWindows && last === "\\")) && !/[\\/]$/.test(resolved)) resolved += isWindows ? "\\" : "/";
  if (isWindows && path.startsWith("\\\\")) {
    const [, , host, ...rest] = resolved.split("\\");
    if (!host) throw new ERR_INVALID_ARG_VALUE("path", path, "Empty UNC servername");
    if (rest.length === 0) throw new ERR_INVALID_ARG_VALUE("path", path, "Missing UNC resource path");
    return new URL(`file://${domainToASCII(host)}/${escapePath(rest.join("/"))}`);
  }
  return new URL(`file://${escapePath(isWindows ? `/${resolved.replaceAll("\\", "/")}` : resolved)}`);
}

/** What a URL's parser would take for something else than a part of the path. */
function escapePath(path) {
  return path.replace(/[%\\\n\r\t?#]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`);
}

function urlToHttpOptions(url) {
  const { hostname, pathname, port, username, password, search } = url;
  const options = {
    __proto__: null,
    ...url,
    protocol: url.protocol,
    hostname: hostname?.[0] === "[" ? hostname.slice(1, -1) : hostname,
    hash: url.hash,
    search,
    pathname,
    path: `${pathname || ""}${search || ""}`,
    href: url.href,
  };
  if (port !== "") options.port = Number(port);
  if (username || password) options.auth = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return options;
}

function format(url, options) {
  if (!(url instanceof URL)) return formatLegacy(url, options);
  if (options !== undefined && options !== null && typeof options !== "object") {
    throw new ERR_INVALID_ARG_TYPE("options", "Object", options);
  }
  const { fragment = true, unicode = false, search = true, auth = true } = options ?? {};
  const hasHost = url.host !== "" || url.protocol === "file:";
  const credentials = auth && url.username !== "" ? `${url.username}${url.password === "" ? "" : `:${url.password}`}@` : "";
  const host = unicode && url.hostname !== "" ? `${domainToUnicode(url.hostname)}${url.port === "" ? "" : `:${url.port}`}` : url.host;
  return `${url.protocol}${hasHost ? "//" : ""}${hasHost ? credentials : ""}${host}${url.pathname}` +
    `${search ? url.search : ""}${fragment ? url.hash : ""}`;
}

module.exports = {
  Url, parse, resolve, resolveObject, format, URL, URLSearchParams, domainToASCII, domainToUnicode, pathToFileURL,
  fileURLToPath, fileURLToPathBuffer, urlToHttpOptions,
};
if ("URLPattern" in globalThis) module.exports.URLPattern = URLPattern;
