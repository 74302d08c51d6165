// @ts-check
"use strict";
// The canonical forms of a URL's components (https://urlpattern.spec.whatwg.org/#canon-encoding-callbacks), over op_url_parse and
// op_url_set: each is put into a URL and read from it. All throw a TypeError for what no URL can have.

const {
  StringPrototypeCharCodeAt, StringPrototypeIndexOf, StringPrototypeSlice, StringPrototypeStartsWith, StringPrototypeToLowerCase,
  TypeError, Uint32Array,
} = require("primordials");
const { op_url_parse, op_url_set } = require("ops");

const OMITTED = 0xffffffff;
const AT = 0x40;
const out = new Uint32Array(8);

/** Default ports of the special schemes. */
const specialPorts = { __proto__: null, http: "80", https: "443", ws: "80", wss: "443", ftp: "21", file: "" };

function isSpecial(scheme) {
  return specialPorts[scheme] !== undefined;
}

/** The parts of the URL whose offsets are in `out`, without separators. */
function partsOf(href) {
  const slice = (from, to) => StringPrototypeSlice(href, from, to);
  const { 0: protocolEnd, 1: usernameEnd, 2: hostStart, 3: hostEnd, 4: port, 5: pathStart, 6: searchStart, 7: hashStart } = out;
  const at = hostEnd > hostStart && StringPrototypeCharCodeAt(href, hostStart) === AT ? hostStart + 1 : hostStart;
  const end = hashStart === OMITTED ? href.length : hashStart;
  const pathname = slice(pathStart, searchStart === OMITTED ? end : searchStart);
  return {
    __proto__: null,
    protocol: slice(0, protocolEnd - 1),
    username: protocolEnd + 2 < usernameEnd ? slice(protocolEnd + 2, usernameEnd) : "",
    password: hostStart > usernameEnd ? slice(usernameEnd + 1, hostStart) : "",
    hostname: slice(at, hostEnd),
    port: port === OMITTED ? "" : slice(hostEnd + 1, pathStart),
    pathname,
    search: searchStart === OMITTED ? "" : slice(searchStart + 1, end),
    hash: hashStart === OMITTED ? "" : slice(hashStart + 1, href.length),
    isOpaque: !StringPrototypeStartsWith(pathname, "/") && !StringPrototypeStartsWith(slice(protocolEnd, hostEnd + 2), "//"),
  };
}

/** Undefined where it is no URL. */
function parseUrl(url, base = undefined) {
  const href = op_url_parse(url, base, out);
  return href === undefined ? undefined : partsOf(href);
}

function withPart(url, part, value) {
  const href = op_url_set(url, part, value, out);
  if (href === undefined) throw new TypeError(`Invalid ${part} '${value}'`);
  return partsOf(href);
}

const DUMMY = "https://dummy.invalid/";

function protocol(value) {
  if (value === "") return value;
  const parts = parseUrl(`${value}://dummy.invalid/`);
  if (parts === undefined) throw new TypeError(`Invalid protocol '${value}'`);
  return parts.protocol;
}

function username(value) {
  return value === "" ? value : withPart(DUMMY, "username", value).username;
}

function password(value) {
  return value === "" ? value : withPart(DUMMY, "password", value).password;
}

/** A host of a special scheme. */
function domain(value) {
  return value === "" ? value : withPart(DUMMY, "hostname", value).hostname;
}

/** A host of any other scheme. */
function hostname(value) {
  return value === "" ? value : withPart("dummy://dummy.invalid/", "hostname", value).hostname;
}

/** What may be a part of an address only. */
function ipv6(value) {
  for (let i = 0; i < value.length; i++) {
    const c = StringPrototypeCharCodeAt(value, i) | 0x20;
    const isHex = (c >= 0x30 && c <= 0x39) || (c >= 0x61 && c <= 0x66);
    const isOther = value[i] === "[" || value[i] === "]" || value[i] === ":";
    if (!isHex && !isOther) throw new TypeError(`Invalid hostname '${value}'`);
  }
  return StringPrototypeToLowerCase(value);
}

function port(value, scheme = "") {
  if (value === "") return value;
  const dummy = scheme === "" ? "dummy://dummy.invalid/" : `${scheme}://dummy.invalid/`;
  const c = StringPrototypeCharCodeAt(value, 0);
  if (c > 0x20 && (c < 0x30 || c > 0x39)) throw new TypeError(`Invalid port '${value}'`);
  return withPart(dummy, "port", value).port;
}

function pathname(value) {
  if (value === "") return value;
  const isAbsolute = value[0] === "/";
  const path = withPart(DUMMY, "pathname", isAbsolute ? value : `/-${value}`).pathname;
  return isAbsolute ? path : StringPrototypeSlice(path, 2);
}

/** The end of an input would lose its spaces: something has to follow. */
function opaquePathname(value) {
  if (value === "") return value;
  let end = value.length;
  const query = StringPrototypeIndexOf(value, "?"), hash = StringPrototypeIndexOf(value, "#");
  if (query >= 0) end = query;
  if (hash >= 0 && hash < end) end = hash;
  const isWhole = end === value.length;
  const parts = parseUrl(`data:${StringPrototypeSlice(value, 0, end)}${isWhole ? "-" : "?"}`);
  if (parts === undefined) throw new TypeError(`Invalid pathname '${value}'`);
  return isWhole ? StringPrototypeSlice(parts.pathname, 0, -1) : parts.pathname;
}

function search(value) {
  return value === "" ? value : withPart(DUMMY, "search", `?${value}`).search;
}

function hash(value) {
  return value === "" ? value : withPart(DUMMY, "hash", `#${value}`).hash;
}

module.exports = {
  parseUrl, isSpecial, specialPorts, protocol, username, password, domain, hostname, ipv6, port, pathname, opaquePathname,
  search, hash,
};
