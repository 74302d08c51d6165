// @ts-check
"use strict";
// https://url.spec.whatwg.org/#url-class. Parsing and the setters are native (ada); what comes back is the href and the
// offsets of its components, and the getters cut the href there. Without: createObjectURL and revokeObjectURL.
//
//   https://user:pass@example.com:1234/foo/bar?baz#quux
//         |     |    |          | ^^^^|       |   |
//         |     |    |          | |   |       |   hash_start
//         |     |    |          | |   |       search_start
//         |     |    |          | |   pathname_start
//         |     |    |          | port
//         |     |    |          host_end
//         |     |    host_start (the "@", if there is one)
//         |     username_end
//         protocol_end
//
// Without an authority ("mailto:x") username_end, host_start and host_end all are protocol_end.

const { StringPrototypeCharCodeAt, StringPrototypeSlice, TypeError, Uint32Array } = require("primordials");
const { op_url_parse, op_url_set } = require("ops");
const webidl = require("webidl");
const { registerPlatformClass } = require("platform_classes");
const { onParamsChange, paramsForUrl, replaceQuery } = require("url/search_params");

const OMITTED = 0xffffffff;
const AT = 0x40;

/** What natives put the offsets in. */
const out = new Uint32Array(8);

/** First argument of the constructor for URLs that are parsed already: the second is the href, `out` the offsets. */
const PARSED = { __proto__: null };

const toUSVString = webidl.converters.USVString;

class URL {
  #href = "";
  #protocolEnd = 0;
  #usernameEnd = 0;
  #hostStart = 0;
  #hostEnd = 0;
  #hasPort = false;
  #pathnameStart = 0;
  #searchStart = OMITTED;
  #hashStart = OMITTED;
  /** @type {any} The URLSearchParams, once asked for. */
  #params = null;

  constructor(url, base = undefined) {
    if (url === PARSED) {
      this.#take(base);
      return;
    }
    const prefix = "Failed to construct 'URL'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    url = toUSVString(url, prefix, "Argument 1");
    if (base !== undefined) base = toUSVString(base, prefix, "Argument 2");
    const href = op_url_parse(url, base, out);
    if (href === undefined) throw invalid(prefix, url, base);
    this.#take(href);
  }

  static parse(url, base = undefined) {
    const href = parseStatic(arguments.length, url, base, "Failed to execute 'parse' on 'URL'");
    return href === undefined ? null : new URL(PARSED, href);
  }

  static canParse(url, base = undefined) {
    return parseStatic(arguments.length, url, base, "Failed to execute 'canParse' on 'URL'") !== undefined;
  }

  /** Takes the href and the offsets in `out`. */
  #take(href) {
    this.#href = href;
    this.#protocolEnd = out[0];
    this.#usernameEnd = out[1];
    this.#hostStart = out[2];
    this.#hostEnd = out[3];
    this.#hasPort = out[4] !== OMITTED;
    this.#pathnameStart = out[5];
    this.#searchStart = out[6];
    this.#hashStart = out[7];
  }

  #set(part, value, prefix) {
    value = toUSVString(value, prefix, "Value");
    const href = op_url_set(this.#href, part, value, out);
    if (href !== undefined) this.#take(href);
    return href !== undefined;
  }

  /** Where the host begins: after the "@" of credentials. */
  #hostAt() {
    const start = this.#hostStart;
    return this.#hostEnd > start && StringPrototypeCharCodeAt(this.#href, start) === AT ? start + 1 : start;
  }

  /** The query without its "?". */
  #query() {
    if (this.#searchStart === OMITTED) return "";
    return StringPrototypeSlice(this.#href, this.#searchStart + 1, this.#hashStart === OMITTED ? undefined : this.#hashStart);
  }

  get href() {
    return this.#href;
  }

  set href(value) {
    const prefix = "Failed to set the 'href' property on 'URL'";
    this.#href; // The brand comes before the conversion.
    value = toUSVString(value, prefix, "Value");
    const href = op_url_parse(value, undefined, out);
    if (href === undefined) throw invalid(prefix, value, undefined);
    this.#take(href);
    if (this.#params !== null) replaceQuery(this.#params, this.#query());
  }

  get origin() {
    return originOf(this.#href, this.#protocolEnd, this.#hostAt(), this.#pathnameStart);
  }

  get protocol() {
    return StringPrototypeSlice(this.#href, 0, this.#protocolEnd);
  }

  set protocol(value) {
    this.#set("protocol", value, "Failed to set the 'protocol' property on 'URL'");
  }

  get username() {
    const start = this.#protocolEnd + 2;
    return start < this.#usernameEnd ? StringPrototypeSlice(this.#href, start, this.#usernameEnd) : "";
  }

  set username(value) {
    this.#set("username", value, "Failed to set the 'username' property on 'URL'");
  }

  get password() {
    return this.#hostStart > this.#usernameEnd ? StringPrototypeSlice(this.#href, this.#usernameEnd + 1, this.#hostStart) : "";
  }

  set password(value) {
    this.#set("password", value, "Failed to set the 'password' property on 'URL'");
  }

  get host() {
    const start = this.#hostAt();
    // Between host and path is the port; but with an empty host possibly the "/." that keeps "//" a path.
    return start === this.#hostEnd ? "" : StringPrototypeSlice(this.#href, start, this.#pathnameStart);
  }

  set host(value) {
    this.#set("host", value, "Failed to set the 'host' property on 'URL'");
  }

  get hostname() {
    return StringPrototypeSlice(this.#href, this.#hostAt(), this.#hostEnd);
  }

  set hostname(value) {
    this.#set("hostname", value, "Failed to set the 'hostname' property on 'URL'");
  }

  get port() {
    return this.#hasPort ? StringPrototypeSlice(this.#href, this.#hostEnd + 1, this.#pathnameStart) : "";
  }

  set port(value) {
    this.#set("port", value, "Failed to set the 'port' property on 'URL'");
  }

  get pathname() {
    const end = this.#searchStart !== OMITTED ? this.#searchStart : this.#hashStart;
    return StringPrototypeSlice(this.#href, this.#pathnameStart, end === OMITTED ? undefined : end);
  }

  set pathname(value) {
    this.#set("pathname", value, "Failed to set the 'pathname' property on 'URL'");
  }

  get search() {
    const query = this.#query();
    return query === "" ? "" : `?${query}`;
  }

  set search(value) {
    if (this.#set("search", value, "Failed to set the 'search' property on 'URL'") && this.#params !== null) {
      replaceQuery(this.#params, this.#query());
    }
  }

  get searchParams() {
    if (this.#params === null) this.#params = paramsForUrl(this, this.#query());
    return this.#params;
  }

  get hash() {
    if (this.#hashStart === OMITTED) return "";
    const hash = StringPrototypeSlice(this.#href, this.#hashStart);
    return hash.length > 1 ? hash : "";
  }

  set hash(value) {
    this.#set("hash", value, "Failed to set the 'hash' property on 'URL'");
  }

  toString() {
    return this.#href;
  }

  toJSON() {
    return this.#href;
  }

  static {
    onParamsChange((url, query) => {
      const href = op_url_set(url.#href, "search", query, out);
      if (href !== undefined) url.#take(href);
    });
  }
}
webidl.configureInterface(URL);
registerPlatformClass(URL, ["href"]);

function invalid(prefix, url, base) {
  return new TypeError(`${prefix}: Invalid URL: '${url}'${base === undefined ? "" : ` with base '${base}'`}`);
}

function parseStatic(given, url, base, prefix) {
  webidl.requiredArguments(given, 1, prefix);
  url = toUSVString(url, prefix, "Argument 1");
  if (base !== undefined) base = toUSVString(base, prefix, "Argument 2");
  return op_url_parse(url, base, out);
}

function originOf(href, protocolEnd, hostStart, pathnameStart) {
  switch (StringPrototypeSlice(href, 0, protocolEnd)) {
    case "http:":
    case "https:":
    case "ws:":
    case "wss:":
    case "ftp:":
      return `${StringPrototypeSlice(href, 0, protocolEnd)}//${StringPrototypeSlice(href, hostStart, pathnameStart)}`;
    case "blob:": {
      const inner = op_url_parse(StringPrototypeSlice(href, protocolEnd), undefined, out);
      if (inner === undefined) return "null";
      const scheme = StringPrototypeSlice(inner, 0, out[0]);
      if (scheme !== "http:" && scheme !== "https:") return "null";
      const at = StringPrototypeCharCodeAt(inner, out[2]) === AT && out[3] > out[2] ? out[2] + 1 : out[2];
      return `${scheme}//${StringPrototypeSlice(inner, at, out[5])}`;
    }
    default:
      return "null";
  }
}

/** @type {string | undefined} What URLs of Request and Response are relative to: servers have no such thing, tests do. */
let baseUrl;

function setBaseUrl(href) {
  baseUrl = href;
}

/** For Request and Response: the href of a URL, undefined if it is none. parsedHasCredentials() is about the last one. */
function parseHref(url) {
  return op_url_parse(url, baseUrl, out);
}

function parsedHasCredentials() {
  return out[1] > out[0] + 2 || out[2] > out[1];
}

module.exports = { URL, parseHref, parsedHasCredentials, setBaseUrl };
