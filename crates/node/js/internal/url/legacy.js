"use strict";
// The legacy URL API of Node (https://nodejs.org/api/url.html#legacy-url-api): url.parse, format and resolve.

const { ERR_INVALID_ARG_TYPE, ERR_INVALID_URL } = require("internal/errors");
const { validateString } = require("internal/validators");

/** Schemes whose URLs have a host and "//". */
const SLASHED = new Set(["http", "https", "ftp", "gopher", "file", "ws", "wss"].flatMap((name) => [name, `${name}:`]));
const SCRIPT = new Set(["javascript", "javascript:"]);

function Url() {
  this.protocol = null;
  this.slashes = null;
  this.auth = null;
  this.host = null;
  this.port = null;
  this.hostname = null;
  this.hash = null;
  this.search = null;
  this.query = null;
  this.pathname = null;
  this.path = null;
  this.href = null;
}

function invalid(text) {
  return new ERR_INVALID_URL(text);
}

const ESCAPED = /[\t\n\r "'<>\\^`{|}]/g;
const escape = (text) => text.replace(ESCAPED, (character) =>
  `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`);

/** Back slashes before the query are slashes. */
function normalize(text) {
  const trimmed = text.trim().replace(/^\ufeff+|\ufeff+$/g, "");
  const end = trimmed.search(/[?#]/);
  return end < 0 ? trimmed.replaceAll("\\", "/") : trimmed.slice(0, end).replaceAll("\\", "/") + trimmed.slice(end);
}

Url.prototype.parse = function (url, parseQueryString = false, slashesDenoteHost = false) {
  validateString(url, "url");
  let rest = normalize(url);
  const scheme = /^[a-z0-9.+-]+:/i.exec(rest)?.[0].toLowerCase();
  if (scheme !== undefined) {
    this.protocol = scheme;
    rest = rest.slice(scheme.length);
  }
  const isScript = SCRIPT.has(scheme);
  let hasHost = false;
  if (!isScript && (slashesDenoteHost || scheme !== undefined || /^\/\/[^@/]+@[^@/]+/.test(rest)) && rest.startsWith("//")) {
    rest = rest.slice(2);
    this.slashes = true;
    hasHost = true;
  }
  if (hasHost || (scheme !== undefined && !isScript && SLASHED.has(scheme) && this.slashes === true)) {
    rest = parseHost(this, rest, url);
  }
  if (!isScript) rest = escape(rest);
  const hash = rest.indexOf("#");
  if (hash >= 0) {
    this.hash = rest.slice(hash);
    rest = rest.slice(0, hash);
  }
  const question = rest.indexOf("?");
  if (question >= 0) {
    this.search = rest.slice(question);
    this.query = rest.slice(question + 1);
    rest = rest.slice(0, question);
    if (parseQueryString) this.query = require("querystring").parse(this.query);
  } else if (parseQueryString) {
    this.search = null;
    this.query = { __proto__: null };
  }
  if (rest !== "") this.pathname = rest;
  else if (SLASHED.has(scheme) && this.hostname) this.pathname = "/";
  if (this.pathname || this.search) this.path = `${this.pathname || ""}${this.search || ""}`;
  this.href = this.format();
  return this;
};

/** Takes credentials, host and port off the front of `rest`. */
function parseHost(target, rest, whole) {
  const end = rest.search(/[/?#]/);
  let authority = end < 0 ? rest : rest.slice(0, end);
  rest = end < 0 ? "" : rest.slice(end);
  const at = authority.lastIndexOf("@");
  if (at >= 0) {
    try {
      target.auth = decodeURIComponent(authority.slice(0, at));
    } catch {
      throw invalid(whole);
    }
    authority = authority.slice(at + 1);
  }
  // What no host has ends it.
  const stop = authority.search(/[\t\n\r "%'<>;\\^`{|}]/);
  if (stop >= 0) {
    rest = `${/^[/?#]/.test(authority.slice(stop)) ? "" : "/"}${authority.slice(stop)}${rest}`;
    authority = authority.slice(0, stop);
  }
  const port = /:([0-9]*)$/.exec(authority);
  if (port !== null) {
    if (port[1] !== "") target.port = port[1];
    authority = authority.slice(0, port.index);
  }
  const isAddress = authority.startsWith("[") && authority.endsWith("]");
  if (isAddress ? /[^0-9a-f:.%[\]]/i.test(authority) : authority.includes(":") || /[\0-\x20[\]]/.test(authority)) throw invalid(whole);
  let hostname = authority.length > 255 ? "" : authority.toLowerCase();
  if (!isAddress && hostname !== "" && /[^\0-\x7f]/.test(hostname)) {
    hostname = require("url").domainToASCII(hostname);
    if (hostname === "") throw invalid(whole);
  }
  target.host = `${hostname}${target.port === null ? "" : `:${target.port}`}`;
  target.hostname = isAddress ? hostname.slice(1, -1) : hostname;
  return rest;
}

Url.prototype.format = function () {
  let auth = this.auth || "";
  if (auth) auth = `${encodeURIComponent(auth).replace(/%3A/i, ":")}@`;
  let protocol = this.protocol || "";
  let pathname = this.pathname || "";
  let hash = this.hash || "";
  let host = "";
  if (this.host) {
    host = auth + this.host;
  } else if (this.hostname) {
    host = auth + (this.hostname.includes(":") && this.hostname[0] !== "[" ? `[${this.hostname}]` : this.hostname);
    if (this.port) host += `:${this.port}`;
  }
  let query = "";
  if (this.query !== null && typeof this.query === "object") query = require("querystring").stringify(this.query);
  let search = this.search || (query && `?${query}`) || "";
  if (protocol && !protocol.endsWith(":")) protocol += ":";
  pathname = pathname.replace(/[?#]/g, encodeURIComponent);
  if (this.slashes || SLASHED.has(protocol)) {
    if (this.slashes || host) {
      if (pathname && pathname[0] !== "/") pathname = `/${pathname}`;
      host = `//${host}`;
    } else if (protocol === "file:") {
      host = "//";
    }
  }
  search = search.replaceAll("#", "%23");
  if (hash && hash[0] !== "#") hash = `#${hash}`;
  if (search && search[0] !== "?") search = `?${search}`;
  return `${protocol}${host}${pathname}${search}${hash}`;
};

Url.prototype.resolve = function (relative) {
  return this.resolveObject(parse(relative, false, true)).format();
};

Url.prototype.resolveObject = function (relative) {
  if (typeof relative === "string") relative = parse(relative, false, true);
  const result = Object.assign(new Url(), this);
  result.hash = relative.hash;
  if (relative.href === "") {
    result.href = result.format();
    return result;
  }
  if (relative.protocol && relative.protocol !== result.protocol) {
    Object.assign(result, relative);
    result.href = result.format();
    return result;
  }
  if (relative.slashes || relative.host) {
    const { protocol } = result;
    Object.assign(result, relative, { protocol });
    if (SLASHED.has(protocol) && !result.pathname) result.pathname = result.path = "/";
    result.slashes = result.slashes || relative.slashes;
  } else if (relative.pathname) {
    const isAbsolute = relative.pathname[0] === "/";
    const base = isAbsolute ? "" : (result.pathname || (result.host ? "/" : "")).replace(/[^/]*$/, "");
    result.pathname = base + relative.pathname;
    Object.assign(result, { search: relative.search, query: relative.query });
  } else if (relative.search !== null) {
    Object.assign(result, { search: relative.search, query: relative.query });
  }
  if (result.pathname) result.pathname = withoutDots(result.pathname, !!result.host);
  result.path = result.pathname || result.search ? `${result.pathname || ""}${result.search || ""}` : null;
  result.href = result.format();
  return result;
};

function withoutDots(path, hasHost) {
  const isAbsolute = hasHost || path[0] === "/";
  const segments = path.split("/");
  const isFolder = /(?:^|\/)\.{0,2}$/.test(path);
  const kept = [];
  for (const segment of path[0] === "/" ? segments.slice(1) : segments) {
    if (segment === ".") continue;
    if (segment !== "..") kept.push(segment);
    else if (kept.length > 0 && kept.at(-1) !== "..") kept.pop();
    else if (!isAbsolute) kept.push("..");
  }
  let joined = kept.join("/");
  if (isFolder && joined !== "" && !joined.endsWith("/")) joined += "/";
  return (isAbsolute ? "/" : "") + joined;
}

function parse(url, parseQueryString, slashesDenoteHost) {
  return url instanceof Url ? url : new Url().parse(url, parseQueryString, slashesDenoteHost);
}

function format(url) {
  if (typeof url === "string") url = parse(url);
  else if (typeof url !== "object" || url === null) throw new ERR_INVALID_ARG_TYPE("urlObject", ["Object", "string"], url);
  return Url.prototype.format.call(url);
}

const resolve = (from, to) => parse(from, false, true).resolve(to);
const resolveObject = (from, to) => from ? parse(from, false, true).resolveObject(to) : to;

module.exports = { Url, format, parse, resolve, resolveObject };
