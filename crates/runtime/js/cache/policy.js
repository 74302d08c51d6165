// @ts-check
"use strict";
// What Cache-Control and its kin say about keeping a response (https://www.rfc-editor.org/rfc/rfc9111). No ops.

const { DateNow, DateParse, MathMax, RegExpPrototypeExec, StringPrototypeSlice, StringPrototypeToLowerCase } = require("primordials");
const { getHeader } = require("fetch/headers");

const DIRECTIVE = /([a-z-]+)(?:\s*=\s*(?:"([^"]*)"|([^\s,]*)))?/y;
const SEPARATOR = /[\s,]*/y;
const SECONDS = /^[0-9]+$/;

/** Names to values; a directive without one is "". */
function directivesOf(value) {
  const directives = { __proto__: null };
  if (value === null) return directives;
  const text = StringPrototypeToLowerCase(value);
  let at = 0;
  while (at < text.length) {
    SEPARATOR.lastIndex = at;
    at += /** @type {any} */ (RegExpPrototypeExec(SEPARATOR, text))[0].length;
    DIRECTIVE.lastIndex = at;
    const found = RegExpPrototypeExec(DIRECTIVE, text);
    if (found === null) {
      at++;
      continue;
    }
    at += found[0].length;
    directives[found[1]] = found[2] ?? found[3] ?? "";
  }
  return directives;
}

function seconds(value) {
  return value !== undefined && RegExpPrototypeExec(SECONDS, value) !== null ? +value : undefined;
}

/** When a response is stale, in milliseconds since 1970; Infinity where nothing says so, 0 where it must not be kept. */
function expiryOf(list) {
  if (getHeader(list, "set-cookie") !== null) return 0;
  const directives = directivesOf(getHeader(list, "cache-control"));
  if (directives["no-store"] !== undefined || directives["no-cache"] !== undefined || directives.private !== undefined) return 0;
  const age = seconds(directives["s-maxage"]) ?? seconds(directives["max-age"]);
  const now = DateNow();
  if (age !== undefined) {
    const already = seconds(getHeader(list, "age") ?? undefined) ?? 0;
    return age > already ? now + MathMax(age - already, 0) * 1000 : 0;
  }
  const expires = getHeader(list, "expires");
  if (expires === null) return Infinity;
  const time = DateParse(expires);
  return time > now ? time : 0;
}

/** Names of the headers of a request that the response depends on, lowercase; undefined for all of them. */
function varyOf(list) {
  const value = getHeader(list, "vary");
  const names = [];
  if (value === null) return names;
  let start = 0;
  for (let i = 0; i <= value.length; i++) {
    if (i < value.length && value[i] !== ",") continue;
    const found = RegExpPrototypeExec(/[^\s]+/, StringPrototypeSlice(value, start, i));
    start = i + 1;
    if (found === null) continue;
    if (found[0] === "*") return undefined;
    names[names.length] = StringPrototypeToLowerCase(found[0]);
  }
  return names;
}

module.exports = { expiryOf, varyOf };
