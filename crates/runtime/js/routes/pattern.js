// @ts-check
"use strict";
// Paths of `routes`, taken apart: "/users/:id/*". No ops but the URL parser, which brings a path into the form that the
// pathname of a URL has; so a letter that is not ASCII and its percent-encoded bytes are the same route.
//
//   literal   itself                        "users"
//   :name     one segment, not empty        "/users/:id" matches "/users/1", and neither "/users/" nor "/users/1/2"
//   *         in the middle: one segment, not empty; at the end: all the rest, however long and also nothing: "/a/*" matches
//             "/a/", "/a/b" and "/a/b/c", but not "/a"
//
// A colon or an asterisk that is only a part of its segment is refused where it looks like one of these.

const {
  ArrayPrototypePush, RegExpPrototypeExec, StringPrototypeCharCodeAt, StringPrototypeIncludes, StringPrototypeIndexOf,
  StringPrototypeSlice, StringPrototypeStartsWith, TypeError, Uint32Array,
} = require("primordials");
const { op_url_parse } = require("ops");

const LITERAL = 0, PARAM = 1, ANY = 2, REST = 3;

class Segment {
  kind;
  /** The literal, or the name. */
  text;

  constructor(kind, text) {
    this.kind = kind;
    this.text = text;
  }
}

const COLON = 0x3a;
const NAME = /^[A-Za-z_$][A-Za-z0-9_$]*$/;
const ORIGIN = "http://x";
const offsets = new Uint32Array(8);

function refuse(route, why) {
  throw new TypeError(`The route ${route} ${why}`);
}

/** @returns {{ path: string, segments: Segment[], names: string[], exact: boolean }} */
function parsePattern(route) {
  if (!StringPrototypeStartsWith(route, "/")) refuse(`'${route}'`, "must begin with a slash");
  if (StringPrototypeIncludes(route, "?") || StringPrototypeIncludes(route, "#")) {
    refuse(`'${route}'`, "must be a path alone, without ? or #");
  }
  const path = normalPath(`${ORIGIN}${route}`);
  const parts = splitPath(path);
  const segments = [];
  const names = [];
  for (let i = 0; i < parts.length; i++) {
    const segment = parseSegment(route, parts[i], i === parts.length - 1);
    if (segment.kind === PARAM) {
      for (let j = 0; j < names.length; j++) {
        if (names[j] === segment.text) refuse(`'${route}'`, `has two parameters of the name ':${segment.text}'`);
      }
      ArrayPrototypePush(names, segment.text);
    }
    ArrayPrototypePush(segments, segment);
  }
  let exact = true;
  for (let i = 0; i < segments.length; i++) if (segments[i].kind !== LITERAL) exact = false;
  return { path, segments, names, exact };
}

function parseSegment(route, text, isLast) {
  if (text === "*") return new Segment(isLast ? REST : ANY, "");
  if (StringPrototypeIncludes(text, "*")) refuse(`'${route}'`, `has '${text}': an asterisk must be a segment of its own`);
  if (StringPrototypeCharCodeAt(text, 0) !== COLON) return new Segment(LITERAL, text);
  const name = StringPrototypeSlice(text, 1);
  if (RegExpPrototypeExec(NAME, name) === null) {
    refuse(`'${route}'`, `has '${text}': a parameter must be a segment of its own, with a name of letters, digits and _`);
  }
  return new Segment(PARAM, name);
}

/** The segments of a path, without the slashes: "/a//b/" has "a", "", "b" and "". */
function splitPath(path) {
  const parts = [];
  let from = 1;
  for (let at = StringPrototypeIndexOf(path, "/", from); at !== -1; at = StringPrototypeIndexOf(path, "/", from)) {
    ArrayPrototypePush(parts, StringPrototypeSlice(path, from, at));
    from = at + 1;
  }
  ArrayPrototypePush(parts, StringPrototypeSlice(path, from));
  return parts;
}

/** What the parser of URLs may see otherwise than it is written: encoded characters and those to be, dots, backslashes. */
const UNCERTAIN = /[^A-Za-z0-9\-._~!$&'()*+,;=:@/|[\]]|\/\./;

/** The pathname of an incoming request's URL, which may be anything that a client can send. */
function pathOfUrl(url) {
  // Past "http://" and a character of the host, at least.
  const start = StringPrototypeIndexOf(url, "/", 8);
  const query = StringPrototypeIndexOf(url, "?", 8);
  if (start === -1 || (query !== -1 && query < start)) return "/";
  const path = StringPrototypeSlice(url, start, query === -1 ? undefined : query);
  return RegExpPrototypeExec(UNCERTAIN, path) === null ? path : normalPath(url);
}

function normalPath(url) {
  const href = op_url_parse(url, undefined, offsets);
  if (href === undefined) return "/";
  let end = href.length;
  for (let i = 6; i < 8; i++) if (offsets[i] < end) end = offsets[i];
  return StringPrototypeSlice(href, offsets[5], end);
}

module.exports = { LITERAL, PARAM, ANY, REST, parsePattern, pathOfUrl, refuse, splitPath };
