// @ts-check
"use strict";
// Tokens of pattern strings (https://urlpattern.spec.whatwg.org/#tokenizing). No ops. Indices count UTF-16 code units.

const {
  ArrayPrototypePush, RegExpPrototypeExec, StringPrototypeCharCodeAt, StringPrototypeCodePointAt, StringPrototypeSlice, TypeError,
} = require("primordials");

const OPEN = "open", CLOSE = "close", REGEXP = "regexp", NAME = "name", CHAR = "char", ESCAPED = "escaped-char";
const MODIFIER = "other-modifier", ASTERISK = "asterisk", END = "end", INVALID = "invalid-char";

const START_OF_NAME = /^[$_\p{ID_Start}]/u;
const PART_OF_NAME = /^[$\u200c\u200d\p{ID_Continue}]/u;

/** The character at an index, with both halves of a surrogate pair. */
function characterAt(text, index) {
  const code = StringPrototypeCodePointAt(text, index);
  return StringPrototypeSlice(text, index, index + (code !== undefined && code > 0xffff ? 2 : 1));
}

function isNameCharacter(character, isFirst) {
  return RegExpPrototypeExec(isFirst ? START_OF_NAME : PART_OF_NAME, character) !== null;
}

/** Where a name ends that would begin at `start`. */
function endOfName(input, start) {
  let at = start;
  while (at < input.length) {
    const character = characterAt(input, at);
    if (!isNameCharacter(character, at === start)) break;
    at += character.length;
  }
  return at;
}

/** Where the regular expression ends whose first character, after the parenthesis, is at `start`; -1 where it is none. */
function endOfRegExp(input, start) {
  const { length } = input;
  let depth = 1;
  let at = start;
  while (at < length) {
    if (StringPrototypeCharCodeAt(input, at) > 0x7f) return -1;
    const character = input[at];
    if (at === start && character === "?") return -1;
    if (character === "\\") {
      if (at === length - 1 || StringPrototypeCharCodeAt(input, at + 1) > 0x7f) return -1;
      at += 2;
      continue;
    }
    if (character === ")") {
      depth--;
      if (depth === 0) return at === start ? -1 : at;
    } else if (character === "(") {
      depth++;
      // Groups that capture would move the numbers of those that the pattern has.
      if (at === length - 1 || input[at + 1] !== "?") return -1;
    }
    at++;
  }
  return -1;
}

/**
 * @param {string} input
 * @param {boolean} isStrict whether a mistake throws; else it is a token of its own
 * @returns {{ type: string, index: number, value: string }[]}
 */
function tokenize(input, isStrict) {
  const tokens = [];
  const add = (type, index, value) => ArrayPrototypePush(tokens, { __proto__: null, type, index, value });
  let index = 0;
  while (index < input.length) {
    const character = characterAt(input, index);
    const next = index + character.length;
    let type = CHAR, end = next, value = character;
    switch (character) {
      case "*": type = ASTERISK; break;
      case "+":
      case "?": type = MODIFIER; break;
      case "{": type = OPEN; break;
      case "}": type = CLOSE; break;
      case "\\":
        if (next === input.length) {
          type = INVALID;
          break;
        }
        type = ESCAPED;
        value = characterAt(input, next);
        end = next + value.length;
        break;
      case ":":
        end = endOfName(input, next);
        value = StringPrototypeSlice(input, next, end);
        type = end === next ? INVALID : NAME;
        break;
      case "(": {
        const close = endOfRegExp(input, next);
        type = close < 0 ? INVALID : REGEXP;
        if (close < 0) break;
        value = StringPrototypeSlice(input, next, close);
        end = close + 1;
        break;
      }
      default:
    }
    if (type === INVALID) {
      if (isStrict) throw new TypeError(`Invalid pattern '${input}': the '${character}' at index ${index} begins nothing`);
      // The character alone, so that what follows is looked at anew.
      value = character;
      end = next;
    }
    add(type, index, value);
    index = end;
  }
  add(END, index, "");
  return tokens;
}

module.exports = {
  tokenize, isNameCharacter, characterAt, OPEN, CLOSE, REGEXP, NAME, CHAR, ESCAPED, MODIFIER, ASTERISK, END, INVALID,
};
