// @ts-check
"use strict";
// What is given of a pattern or of a URL, component by component, with the base that fills in the rest
// (https://urlpattern.spec.whatwg.org/#urlpatterninit-processing). No ops.

const { StringPrototypeEndsWith, StringPrototypeLastIndexOf, StringPrototypeSlice, StringPrototypeStartsWith, TypeError } =
  require("primordials");
const canon = require("urlpattern/canonicalize");
const { escapePattern } = require("urlpattern/parts");

/** In the order of a URL, as far as the base goes: a component is inherited if neither it nor one before it is given. */
const INHERITED = ["protocol", "hostname", "port", "pathname", "search", "hash"];

function isAbsolute(path, isPattern) {
  if (StringPrototypeStartsWith(path, "/")) return true;
  return isPattern && (StringPrototypeStartsWith(path, "\\/") || StringPrototypeStartsWith(path, "{/"));
}

function inherit(result, init, base, isPattern) {
  for (let i = 0; i < INHERITED.length && init[INHERITED[i]] === undefined; i++) {
    const value = base[INHERITED[i]];
    result[INHERITED[i]] = isPattern ? escapePattern(value) : value;
  }
  // Never a pattern's: that would match no URL without these.
  if (isPattern || init.protocol !== undefined || init.hostname !== undefined || init.port !== undefined) return;
  if (init.username !== undefined) return;
  result.username = base.username;
  if (init.password === undefined) result.password = base.password;
}

function resolvePath(path, base, isPattern) {
  if (base === undefined || base.isOpaque || isAbsolute(path, isPattern)) return path;
  const basePath = isPattern ? escapePattern(base.pathname) : base.pathname;
  const slash = StringPrototypeLastIndexOf(basePath, "/");
  return slash < 0 ? path : `${StringPrototypeSlice(basePath, 0, slash + 1)}${path}`;
}

function canonicalPath(path, scheme) {
  return scheme === "" || canon.isSpecial(scheme) ? canon.pathname(path) : canon.opaquePathname(path);
}

function canonicalHost(host, scheme) {
  return scheme === "" || canon.isSpecial(scheme) ? canon.domain(host) : canon.hostname(host);
}

function withoutFirst(text, first) {
  return StringPrototypeStartsWith(text, first) ? StringPrototypeSlice(text, 1) : text;
}

/**
 * Patterns are left as they are, the components of a URL become canonical; throws a TypeError where they cannot.
 * @param {any} init components, and possibly baseURL
 * @param {any} result what the components are that neither init nor its base has; it is filled in
 */
function processInit(init, isPattern, result) {
  let base;
  if (init.baseURL !== undefined) {
    base = canon.parseUrl(init.baseURL);
    if (base === undefined) throw new TypeError(`Invalid base URL: '${init.baseURL}'`);
    inherit(result, init, base, isPattern);
  }
  const { protocol, username, password, hostname, port, pathname, search, hash } = init;
  if (protocol !== undefined) {
    const scheme = StringPrototypeEndsWith(protocol, ":") ? StringPrototypeSlice(protocol, 0, -1) : protocol;
    result.protocol = isPattern ? scheme : canon.protocol(scheme);
  }
  if (username !== undefined) result.username = isPattern ? username : canon.username(username);
  if (password !== undefined) result.password = isPattern ? password : canon.password(password);
  const scheme = result.protocol === undefined ? "" : result.protocol;
  if (hostname !== undefined) result.hostname = isPattern ? hostname : canonicalHost(hostname, scheme);
  if (port !== undefined) result.port = isPattern ? port : canon.port(port, scheme);
  if (pathname !== undefined) {
    const path = resolvePath(pathname, base, isPattern);
    result.pathname = isPattern ? path : canonicalPath(path, scheme);
  }
  if (search !== undefined) {
    const query = withoutFirst(search, "?");
    result.search = isPattern ? query : canon.search(query);
  }
  if (hash !== undefined) {
    const fragment = withoutFirst(hash, "#");
    result.hash = isPattern ? fragment : canon.hash(fragment);
  }
  return result;
}

module.exports = { processInit };
