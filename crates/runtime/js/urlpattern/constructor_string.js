// @ts-check
"use strict";
// A whole pattern in one string, "https://:sub.example.com/*", is cut into components
// (https://urlpattern.spec.whatwg.org/#constructor-string-parsing). No ops.

const { StringPrototypeSlice } = require("primordials");
const {
  ASTERISK, CHAR, CLOSE, END, ESCAPED, INVALID, NAME, OPEN, REGEXP, tokenize,
} = require("urlpattern/tokens");

const INIT = "init", PROTOCOL = "protocol", AUTHORITY = "authority", USERNAME = "username", PASSWORD = "password";
const HOSTNAME = "hostname", PORT = "port", PATHNAME = "pathname", SEARCH = "search", HASH = "hash", DONE = "done";

/** The order in which states come: a component that was skipped is known by it. */
const order = {
  __proto__: null, init: 0, protocol: 1, authority: 2, username: 3, password: 4, hostname: 5, port: 6, pathname: 7, search: 8,
  hash: 9, done: 10,
};

class Parser {
  input;
  tokens;
  result = { __proto__: null };
  start = 0;
  at = 0;
  step = 1;
  depth = 0;
  brackets = 0;
  isSpecial = false;
  state = INIT;
  /** Whether a pattern of a protocol matches one of the special schemes. */
  matchesSpecial;

  constructor(input, matchesSpecial) {
    this.input = input;
    this.tokens = tokenize(input, false);
    this.matchesSpecial = matchesSpecial;
  }
}

function tokenAt(parser, index) {
  const { tokens } = parser;
  return index < tokens.length ? tokens[index] : tokens[tokens.length - 1];
}

/** Whether a token is this character, and means no more than itself. */
function isPlain(parser, index, value) {
  const token = tokenAt(parser, index);
  return token.value === value && (token.type === CHAR || token.type === ESCAPED || token.type === INVALID);
}

const is = (parser, value) => isPlain(parser, parser.at, value);

/** A question mark begins a query unless it is the modifier of what is before it. */
function isSearchPrefix(parser) {
  if (is(parser, "?")) return true;
  if (parser.tokens[parser.at].value !== "?") return false;
  if (parser.at === 0) return true;
  const { type } = tokenAt(parser, parser.at - 1);
  return type !== NAME && type !== REGEXP && type !== CLOSE && type !== ASTERISK;
}

function componentString(parser) {
  return StringPrototypeSlice(parser.input, tokenAt(parser, parser.start).index, parser.tokens[parser.at].index);
}

function changeState(parser, next, skip) {
  const { state, result } = parser;
  if (state !== INIT && state !== AUTHORITY && state !== DONE) result[state] = componentString(parser);
  if (state !== INIT && next !== DONE) {
    const from = order[state], to = order[next];
    if (from < order.hostname && to > order.hostname && result.hostname === undefined) result.hostname = "";
    if (from < order.pathname && to > order.pathname && result.pathname === undefined) {
      result.pathname = parser.isSpecial ? "/" : "";
    }
    if (from < order.search && to > order.search && result.search === undefined) result.search = "";
  }
  parser.state = next;
  parser.at += skip;
  parser.start = parser.at;
  parser.step = 0;
}

function rewind(parser, state) {
  parser.at = parser.start;
  parser.step = 0;
  parser.state = state;
}

/** Into what comes after a host, a port or a path. */
function leave(parser) {
  const { state } = parser;
  if (order[state] < order.pathname && is(parser, "/")) changeState(parser, PATHNAME, 0);
  else if (order[state] < order.search && isSearchPrefix(parser)) changeState(parser, SEARCH, 1);
  else if (order[state] < order.hash && is(parser, "#")) changeState(parser, HASH, 1);
}

function endOfProtocol(parser) {
  parser.isSpecial = parser.matchesSpecial(componentString(parser));
  const hasSlashes = isPlain(parser, parser.at + 1, "/") && isPlain(parser, parser.at + 2, "/");
  if (hasSlashes) changeState(parser, AUTHORITY, 3);
  else changeState(parser, parser.isSpecial ? AUTHORITY : PATHNAME, 1);
}

function handle(parser) {
  switch (parser.state) {
    case INIT:
      if (is(parser, ":")) rewind(parser, PROTOCOL);
      break;
    case PROTOCOL:
      if (is(parser, ":")) endOfProtocol(parser);
      break;
    case AUTHORITY:
      if (is(parser, "@")) rewind(parser, USERNAME);
      else if (is(parser, "/") || isSearchPrefix(parser) || is(parser, "#")) rewind(parser, HOSTNAME);
      break;
    case USERNAME:
      if (is(parser, ":")) changeState(parser, PASSWORD, 1);
      else if (is(parser, "@")) changeState(parser, HOSTNAME, 1);
      break;
    case PASSWORD:
      if (is(parser, "@")) changeState(parser, HOSTNAME, 1);
      break;
    case HOSTNAME:
      if (is(parser, "[")) parser.brackets++;
      else if (is(parser, "]")) parser.brackets--;
      else if (is(parser, ":") && parser.brackets === 0) changeState(parser, PORT, 1);
      else leave(parser);
      break;
    default:
      leave(parser);
  }
}

/** At the end of the input. Returns whether that is the end of parsing. */
function handleEnd(parser) {
  if (parser.state === INIT) {
    // Nothing ended a protocol: the pattern is relative.
    rewind(parser, INIT);
    if (is(parser, "#")) changeState(parser, HASH, 1);
    else if (isSearchPrefix(parser)) changeState(parser, SEARCH, 1);
    else changeState(parser, PATHNAME, 0);
    return false;
  }
  if (parser.state === AUTHORITY) {
    rewind(parser, HOSTNAME);
    return false;
  }
  changeState(parser, DONE, 0);
  return true;
}

/** The components that the string has, by name. */
function parseConstructorString(input, matchesSpecial) {
  const parser = new Parser(input, matchesSpecial);
  for (; parser.at < parser.tokens.length; parser.at += parser.step) {
    parser.step = 1;
    const { type } = parser.tokens[parser.at];
    if (type === END) {
      if (handleEnd(parser)) break;
      continue;
    }
    if (type === OPEN) {
      parser.depth++;
      continue;
    }
    if (parser.depth > 0) {
      if (type !== CLOSE) continue;
      parser.depth--;
    }
    handle(parser);
  }
  const { result } = parser;
  if (result.hostname !== undefined && result.port === undefined) result.port = "";
  return result;
}

module.exports = { parseConstructorString };
