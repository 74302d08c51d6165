"use strict";
// node:querystring (https://nodejs.org/api/querystring.html).

function hexValue(code) {
  if (code >= 48 && code <= 57) return code - 48;
  const lower = code | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

/** Bytes of a string, escapes decoded; escapes that are none stay. */
function unescapeBuffer(text, decodeSpaces = false) {
  const out = Buffer.allocUnsafe(text.length);
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    let code = text.charCodeAt(i);
    if (code === 43 && decodeSpaces) {
      code = 32;
    } else if (code === 37 && i + 2 < text.length) {
      const [high, low] = [hexValue(text.charCodeAt(i + 1)), hexValue(text.charCodeAt(i + 2))];
      if (high >= 0 && low >= 0) {
        code = high * 16 + low;
        i += 2;
      }
    }
    out[length++] = code;
  }
  return out.slice(0, length);
}

function unescape(text, decodeSpaces = undefined) {
  try {
    return decodeURIComponent(text);
  } catch {
    return exports.unescapeBuffer(text, decodeSpaces).toString();
  }
}

/** Without the escapes of encodeURIComponent alone. */
function escape(value) {
  if (typeof value !== "string") value = typeof value === "object" ? String(value) : `${value}`;
  if (!value.isWellFormed()) return escapeSurrogates(value);
  return encodeURIComponent(value);
}

/** A surrogate takes the unit behind it along, whatever that is; at the end of the text it is an error. */
function escapeSurrogates(text) {
  let out = "";
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0xd800 || unit > 0xdfff) {
      out += encodeURIComponent(text[i]);
      continue;
    }
    if (++i >= text.length) {
      const { ERR_INVALID_URI } = require("internal/errors");
      throw new ERR_INVALID_URI();
    }
    out += encodeURIComponent(String.fromCodePoint(0x10000 + (((unit & 0x3ff) << 10) | (text.charCodeAt(i) & 0x3ff))));
  }
  return out;
}

function primitive(value) {
  if (typeof value === "string") return value;
  if (typeof value === "number" && Number.isFinite(value)) return `${value}`;
  if (typeof value === "bigint" || typeof value === "boolean") return `${value}`;
  return "";
}

function stringify(object, separator, equals, options) {
  separator ||= "&";
  equals ||= "=";
  const encode = typeof options?.encodeURIComponent === "function" ? options.encodeURIComponent : exports.escape;
  if (object === null || typeof object !== "object") return "";
  const pairs = [];
  for (const key of Object.keys(object)) {
    const value = object[key];
    const start = encode(primitive(key)) + equals;
    if (Array.isArray(value)) for (const one of value) pairs.push(start + encode(primitive(one)));
    else pairs.push(start + encode(primitive(value)));
  }
  return pairs.join(separator);
}

function parse(text, separator, equals, options) {
  const result = { __proto__: null };
  if (typeof text !== "string" || text.length === 0) return result;
  separator = separator ? `${separator}` : "&";
  equals = equals ? `${equals}` : "=";
  const limit = typeof options?.maxKeys === "number" ? options.maxKeys : 1000;
  const decode = typeof options?.decodeURIComponent === "function" ? options.decodeURIComponent : exports.unescape;
  const isCustom = decode !== unescape;
  let left = limit > 0 ? limit : Infinity;
  let start = 0;
  while (start <= text.length && left > 0) {
    let end = separator === "" ? -1 : text.indexOf(separator, start);
    if (end < 0) end = text.length;
    if (end > start) {
      left--;
      const pair = text.slice(start, end);
      const at = pair.indexOf(equals);
      add(result, part(at < 0 ? pair : pair.slice(0, at), decode, isCustom),
        at < 0 ? "" : part(pair.slice(at + equals.length), decode, isCustom));
    }
    start = end + Math.max(separator.length, 1);
  }
  return result;
}

function part(text, decode, isCustom) {
  // A decoder of the caller's is given escapes, as in Node.
  const spaced = text.replaceAll("+", isCustom ? "%20" : " ");
  if (!isCustom && !spaced.includes("%")) return spaced;
  try {
    return decode(spaced);
  } catch {
    return exports.unescape(spaced, true);
  }
}

function add(result, key, value) {
  const known = result[key];
  if (known === undefined) result[key] = value;
  else if (Array.isArray(known)) known.push(value);
  else result[key] = [known, value];
}

Object.assign(exports, { unescapeBuffer, unescape, escape, stringify, encode: stringify, parse, decode: parse });
