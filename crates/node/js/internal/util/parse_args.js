"use strict";
// util.parseArgs (https://nodejs.org/api/util.html#utilparseargsconfig).

const {
  ERR_INVALID_ARG_VALUE, ERR_PARSE_ARGS_INVALID_OPTION_VALUE, ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL,
  ERR_PARSE_ARGS_UNKNOWN_OPTION,
} = require("internal/errors");
const {
  validateArray, validateBoolean, validateBooleanArray, validateObject, validateString, validateStringArray, validateUnion,
} = require("internal/validators");

/** The value of an option that a configuration has as its own. */
function own(object, key, fallback = undefined) {
  return Object.hasOwn(object, key) ? object[key] : fallback;
}

function longOfShort(options, short) {
  for (const [name, option] of Object.entries(options)) if (own(option, "short") === short) return name;
  return short;
}

function checkOptions(options) {
  validateObject(options, "options");
  for (const [name, option] of Object.entries(options)) {
    validateObject(option, `options.${name}`);
    const type = own(option, "type");
    validateUnion(type, `options.${name}.type`, ["string", "boolean"]);
    const short = own(option, "short");
    if (Object.hasOwn(option, "short")) {
      validateString(short, `options.${name}.short`);
      if ([...short].length !== 1) {
        throw new ERR_INVALID_ARG_VALUE(`options.${name}.short`, short, "must be a single character");
      }
    }
    const multiple = own(option, "multiple");
    if (Object.hasOwn(option, "multiple")) validateBoolean(multiple, `options.${name}.multiple`);
    const value = own(option, "default");
    if (value === undefined) continue;
    const check = type === "string" ? [validateString, validateStringArray] : [validateBoolean, validateBooleanArray];
    check[multiple ? 1 : 0](value, `options.${name}.default`);
  }
}

/** Arguments as tokens: option, positional, option-terminator. */
function tokenize(args, options) {
  const tokens = [];
  const rest = args.map((arg, index) => ({ arg, index }));
  const takesValue = (name) => own(options, name)?.type === "string";
  const isValue = (arg) => arg !== undefined && arg !== "--" && !(arg.length > 1 && arg.startsWith("-"));
  while (rest.length > 0) {
    const { arg, index } = rest.shift();
    const next = rest[0]?.arg;
    if (arg === "--") {
      tokens.push({ kind: "option-terminator", index });
      for (const positional of rest) tokens.push({ kind: "positional", index: positional.index, value: positional.arg });
      break;
    }
    if (/^-[^-]/.test(arg)) {
      const short = [...arg.slice(1)][0];
      const name = longOfShort(options, short);
      const more = arg.slice(1 + short.length);
      if (more === "") {
        let value, inlineValue;
        if (takesValue(name) && isValue(next)) {
          value = rest.shift().arg;
          inlineValue = false;
        }
        tokens.push({ kind: "option", name, rawName: arg, index, value, inlineValue });
      } else if (takesValue(name)) {
        tokens.push({ kind: "option", name, rawName: `-${short}`, index, value: more, inlineValue: true });
      } else {
        // -abc is -a -b -c, as far as they take no value.
        const parts = [];
        const letters = [...arg.slice(1)];
        for (let i = 0; i < letters.length; i++) {
          if (i > 0 && letters[i] === "-") {
            parts.push({ arg: `-${letters.slice(i).join("")}`, index });
            break;
          }
          if (takesValue(longOfShort(options, letters[i]))) {
            parts.push({ arg: `-${letters.slice(i).join("")}`, index });
            break;
          }
          parts.push({ arg: `-${letters[i]}`, index });
        }
        rest.unshift(...parts);
      }
      continue;
    }
    if (/^--[^]/.test(arg)) {
      const equals = arg.indexOf("=", 3);
      const name = equals < 0 ? arg.slice(2) : arg.slice(2, equals);
      let value, inlineValue;
      if (equals >= 0) {
        value = arg.slice(equals + 1);
        inlineValue = true;
      } else if (takesValue(name) && isValue(next)) {
        value = rest.shift().arg;
        inlineValue = false;
      }
      tokens.push({ kind: "option", name, rawName: `--${name}`, index, value, inlineValue });
      continue;
    }
    tokens.push({ kind: "positional", index, value: arg });
  }
  return tokens;
}

function checkStrict(token, options, allowPositionals, allowNegative) {
  if (token.kind === "positional") {
    if (!allowPositionals) throw new ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL(token.value);
    return;
  }
  if (token.kind !== "option") return;
  const negated = allowNegative && token.name.startsWith("no-") ? token.name.slice(3) : undefined;
  const known = Object.hasOwn(options, token.name) || (negated !== undefined && own(options, negated)?.type === "boolean");
  if (!known) throw new ERR_PARSE_ARGS_UNKNOWN_OPTION(token.rawName, allowPositionals);
  const option = own(options, token.name) ?? { type: "boolean" };
  const names = option.short ? `-${option.short}, --${token.name}` : `--${token.name}`;
  if (option.type === "string" && typeof token.value !== "string") {
    throw new ERR_PARSE_ARGS_INVALID_OPTION_VALUE(`Option '${names} <value>' argument missing`);
  }
  if (option.type === "boolean" && token.value !== undefined && token.value !== null) {
    throw new ERR_PARSE_ARGS_INVALID_OPTION_VALUE(`Option '${names}' does not take an argument`);
  }
  if (option.type === "string" && token.inlineValue === false && token.value.length > 1 && token.value.startsWith("-")) {
    const example = token.rawName.startsWith("--") ? `'${token.rawName}=-XYZ'` : `'--${token.name}=-XYZ' or '${token.rawName}-XYZ'`;
    throw new ERR_PARSE_ARGS_INVALID_OPTION_VALUE(`Option '${token.rawName}' argument is ambiguous.\n` +
      `Did you forget to specify the option argument for '${token.rawName}'?\n` +
      `To specify an option argument starting with a dash use ${example}.`);
  }
}

function store(values, options, name, value) {
  if (name === "__proto__") return;
  if (own(options, name)?.multiple) {
    if (Object.hasOwn(values, name)) values[name].push(value);
    else values[name] = [value];
  } else {
    values[name] = value;
  }
}

function parseArgs(config = {}) {
  validateObject(config, "config");
  const { argv } = require("process");
  const args = own(config, "args") ?? argv.slice(2);
  const strict = own(config, "strict", true), options = own(config, "options", {});
  const allowPositionals = own(config, "allowPositionals", !strict);
  const returnTokens = own(config, "tokens", false), allowNegative = own(config, "allowNegative", false);
  validateArray(args, "args");
  for (const [name, value] of Object.entries({ strict, allowPositionals, tokens: returnTokens, allowNegative })) {
    validateBoolean(value, name);
  }
  checkOptions(options);
  const tokens = tokenize(args, options);
  const values = { __proto__: null }, positionals = [];
  for (const token of tokens) {
    if (strict) checkStrict(token, options, allowPositionals, allowNegative);
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind !== "option") continue;
    if (allowNegative && token.value === undefined && token.name.startsWith("no-") && !Object.hasOwn(options, token.name)) {
      token.name = token.name.slice(3);
      store(values, options, token.name, false);
    } else {
      store(values, options, token.name, token.value ?? true);
    }
  }
  for (const [name, option] of Object.entries(options)) {
    const value = own(option, "default");
    if (value !== undefined && !Object.hasOwn(values, name)) values[name] = value;
  }
  return returnTokens ? { values, positionals, tokens } : { values, positionals };
}

module.exports = { parseArgs };
