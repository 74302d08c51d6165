// @ts-check
"use strict";
// A pattern string becomes a list of parts (https://urlpattern.spec.whatwg.org/#parsing), and parts a component: a regular
// expression of V8's and the pattern string that they come to. No ops.

const { ArrayPrototypePush, RegExp, RegExpPrototypeExec, StringPrototypeCharCodeAt, StringPrototypeSlice, TypeError } =
  require("primordials");
const {
  ASTERISK, CHAR, CLOSE, END, ESCAPED, MODIFIER, NAME, OPEN, REGEXP, characterAt, isNameCharacter, tokenize,
} = require("urlpattern/tokens");

const FIXED = "fixed-text", SEGMENT = "segment-wildcard", FULL = "full-wildcard";
const NONE = "", ANYTHING = ".*";

const IN_REGEXP = ".+*?^${}()[]|/\\";
const IN_PATTERN = "+*?:{}()\\";

function escape(text, special) {
  let result = "";
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    let isSpecial = false;
    for (let j = 0; j < special.length && !isSpecial; j++) isSpecial = special[j] === character;
    result += isSpecial ? `\\${character}` : character;
  }
  return result;
}

function escapeRegExp(text) {
  return escape(text, IN_REGEXP);
}

function escapePattern(text) {
  return escape(text, IN_PATTERN);
}

function segmentRegExp(options) {
  return `[^${escapeRegExp(options.delimiter)}]+?`;
}

class Parser {
  tokens;
  at = 0;
  encode;
  segment;
  prefix;
  /** @type {any[]} */
  parts = [];
  pending = "";
  number = 0;

  constructor(input, options, encode) {
    this.tokens = tokenize(input, true);
    this.encode = encode;
    this.segment = segmentRegExp(options);
    this.prefix = options.prefix;
  }
}

function take(parser, type) {
  const token = parser.tokens[parser.at];
  if (token.type !== type) return undefined;
  parser.at++;
  return token;
}

function require_(parser, type) {
  const token = take(parser, type);
  if (token !== undefined) return token;
  const { index, value } = parser.tokens[parser.at];
  throw new TypeError(`Invalid pattern: '${value}' at index ${index} is not expected there`);
}

function takeRegExp(parser, name) {
  const token = take(parser, REGEXP);
  return token === undefined && name === undefined ? take(parser, ASTERISK) : token;
}

/** The modifier itself: "?", "*", "+", or none. */
function takeModifier(parser) {
  const token = take(parser, MODIFIER) ?? take(parser, ASTERISK);
  return token === undefined ? NONE : token.value;
}

function takeText(parser) {
  let text = "";
  for (;;) {
    const token = take(parser, CHAR) ?? take(parser, ESCAPED);
    if (token === undefined) return text;
    text += token.value;
  }
}

function addPart(parser, type, value, modifier, name = "", prefix = "", suffix = "") {
  ArrayPrototypePush(parser.parts, { __proto__: null, type, value, modifier, name, prefix, suffix });
}

function addPending(parser) {
  const { pending, encode } = parser;
  if (pending === "") return;
  parser.pending = "";
  addPart(parser, FIXED, encode(pending), NONE);
}

function addGroup(parser, prefix, nameToken, valueToken, suffix, modifier) {
  const { encode } = parser;
  if (nameToken === undefined && valueToken === undefined) {
    if (modifier === NONE) {
      parser.pending += prefix;
      return;
    }
    addPending(parser);
    if (prefix !== "") addPart(parser, FIXED, encode(prefix), modifier);
    return;
  }
  addPending(parser);
  let value = valueToken === undefined ? parser.segment : valueToken.type === ASTERISK ? ANYTHING : valueToken.value;
  const type = value === parser.segment ? SEGMENT : value === ANYTHING ? FULL : REGEXP;
  if (type !== REGEXP) value = "";
  const name = nameToken === undefined ? `${parser.number++}` : nameToken.value;
  for (let i = 0; i < parser.parts.length; i++) {
    if (parser.parts[i].name === name) throw new TypeError(`Invalid pattern: the name '${name}' is there twice`);
  }
  addPart(parser, type, value, modifier, name, encode(prefix), encode(suffix));
}

/** @param {{ delimiter: string, prefix: string }} options what a segment ends at; what belongs to a group after it */
function parsePattern(input, options, encode) {
  const parser = new Parser(input, options, encode);
  while (parser.at < parser.tokens.length) {
    const character = take(parser, CHAR);
    const name = take(parser, NAME);
    const value = takeRegExp(parser, name);
    if (name !== undefined || value !== undefined) {
      let prefix = character === undefined ? "" : character.value;
      if (prefix !== "" && prefix !== parser.prefix) {
        parser.pending += prefix;
        prefix = "";
      }
      addPending(parser);
      addGroup(parser, prefix, name, value, "", takeModifier(parser));
      continue;
    }
    const fixed = character ?? take(parser, ESCAPED);
    if (fixed !== undefined) {
      parser.pending += fixed.value;
      continue;
    }
    if (take(parser, OPEN) !== undefined) {
      const prefix = takeText(parser);
      const groupName = take(parser, NAME);
      const groupValue = takeRegExp(parser, groupName);
      const suffix = takeText(parser);
      require_(parser, CLOSE);
      addGroup(parser, prefix, groupName, groupValue, suffix, takeModifier(parser));
      continue;
    }
    addPending(parser);
    require_(parser, END);
  }
  return parser.parts;
}

/** The source of the regular expression; the names of its groups are those of the parts that are not fixed. */
function regExpSource(parts, options) {
  let source = "^";
  for (let i = 0; i < parts.length; i++) {
    const { type, modifier } = parts[i];
    if (type === FIXED) {
      const text = escapeRegExp(parts[i].value);
      source += modifier === NONE ? text : `(?:${text})${modifier}`;
      continue;
    }
    const value = type === SEGMENT ? segmentRegExp(options) : type === FULL ? ANYTHING : parts[i].value;
    const prefix = escapeRegExp(parts[i].prefix), suffix = escapeRegExp(parts[i].suffix);
    const isRepeated = modifier === "*" || modifier === "+";
    if (prefix === "" && suffix === "") source += isRepeated ? `((?:${value})${modifier})` : `(${value})${modifier}`;
    else if (!isRepeated) source += `(?:${prefix}(${value})${suffix})${modifier}`;
    else source += `(?:${prefix}((?:${value})(?:${suffix}${prefix}(?:${value}))*)${suffix})${modifier === "*" ? "?" : ""}`;
  }
  return `${source}$`;
}

function isNumbered(part) {
  const code = StringPrototypeCharCodeAt(part.name, 0);
  return code >= 0x30 && code <= 0x39;
}

/** Whether a part needs braces, so that what stands beside it is not taken for a part of it. */
function needsBraces(part, previous, next, options) {
  if (part.suffix !== "" || (part.prefix !== "" && part.prefix !== options.prefix)) return true;
  if (!isNumbered(part) && part.type === SEGMENT && part.modifier === NONE && next !== undefined && next.prefix === "" &&
    next.suffix === "") {
    if (next.type === FIXED ? isNameCharacter(characterAt(next.value, 0), false) : isNumbered(next)) return true;
  }
  return part.prefix === "" && previous !== undefined && previous.type === FIXED && options.prefix !== "" &&
    previous.value[previous.value.length - 1] === options.prefix;
}

function patternString(parts, options) {
  let result = "";
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i], { type, modifier, suffix } = part;
    if (type === FIXED) {
      const text = escapePattern(part.value);
      result += modifier === NONE ? text : `{${text}}${modifier}`;
      continue;
    }
    const previous = i > 0 ? parts[i - 1] : undefined, next = i + 1 < parts.length ? parts[i + 1] : undefined;
    const hasName = !isNumbered(part), braces = needsBraces(part, previous, next, options);
    let text = escapePattern(part.prefix);
    if (hasName) text += `:${part.name}`;
    if (type === REGEXP) {
      text += `(${part.value})`;
    } else if (type === SEGMENT) {
      if (!hasName) text += `(${segmentRegExp(options)})`;
      else if (suffix !== "" && isNameCharacter(characterAt(suffix, 0), false)) text += "\\";
    } else {
      const isPlain = !hasName && (previous === undefined || previous.type === FIXED || previous.modifier !== NONE || braces ||
        part.prefix !== "");
      text += isPlain ? "*" : `(${ANYTHING})`;
    }
    text += escapePattern(suffix);
    result += `${braces ? `{${text}}` : text}${modifier}`;
  }
  return result;
}

/** A compiled component of a pattern. */
class Component {
  pattern;
  parts;
  names;
  hasRegExp;
  encode;
  #regExp;

  constructor(input, options, encode) {
    const parts = parsePattern(input, options, encode);
    const source = regExpSource(parts, options);
    try {
      this.#regExp = new RegExp(source, options.ignoreCase ? "vi" : "v");
    } catch (error) {
      throw new TypeError(`Invalid pattern '${input}': ${/** @type {any} */ (error).message}`);
    }
    this.parts = parts;
    this.encode = encode;
    this.pattern = patternString(parts, options);
    this.names = [];
    this.hasRegExp = false;
    for (let i = 0; i < parts.length; i++) {
      if (parts[i].type !== FIXED) ArrayPrototypePush(this.names, parts[i].name);
      if (parts[i].type === REGEXP) this.hasRegExp = true;
    }
  }

  /** What the regular expression makes of a text: null, or an array with the groups after the first element. */
  exec(text) {
    return RegExpPrototypeExec(this.#regExp, text);
  }
}

module.exports = { Component, escapePattern, FIXED, SEGMENT, FULL, NONE };
