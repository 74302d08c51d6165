// @ts-check
"use strict";
// What the headers of a request must not be (https://fetch.spec.whatwg.org/#forbidden-request-header,
// #no-cors-safelisted-request-header). No ops.
//
// Deviation, as servers need it: of the forbidden headers only those are refused, when they are appended or set, that would have a
// server take the request for one of a forbidden method. Others (host, cookie, origin) are an app's to set; what is the
// connection's own, the client sets.

const { ArrayPrototypePush, RegExpPrototypeExec, StringPrototypeCharCodeAt, StringPrototypeIndexOf } = require("primordials");

const mime = lazy("infra/mime");

const NOT_LANGUAGE = /[^0-9A-Za-z *,\-.;=]/;
const MAX_SAFE_LENGTH = 128;

function isForbidden(name, value) {
  const isOverride = name === "x-http-method" || name === "x-http-method-override" || name === "x-method-override";
  return isOverride && hasForbiddenMethod(value);
}

/** "Get, decode, and split", with a look at each element. */
function hasForbiddenMethod(value) {
  let start = 0;
  let quoted = false;
  for (let i = 0; i <= value.length; i++) {
    const character = i < value.length ? value[i] : ",";
    if (quoted && character === "\\") i++;
    else if (character === '"') quoted = !quoted;
    if ((character !== "," || quoted) && i < value.length) continue;
    if (isMethod(value, start, i)) return true;
    start = i + 1;
  }
  return false;
}

const METHOD = /^[\t ]*(?:connect|trace|track)[\t ]*$/i;

function isMethod(value, start, end) {
  let text = "";
  for (let i = start; i < end && text.length < 64; i++) text += value[i];
  return RegExpPrototypeExec(METHOD, text) !== null;
}

/** Bytes that no safelisted value has. */
function isUnsafe(value) {
  for (let i = 0; i < value.length; i++) {
    const code = StringPrototypeCharCodeAt(value, i);
    if ((code < 0x20 && code !== 0x09) || code === 0x7f || StringPrototypeIndexOf('"():<>?@[\\]{}', value[i]) >= 0) return true;
  }
  return false;
}

/** Whether a request in the mode "no-cors" may have this header. */
function isSafelisted(name, value) {
  if (value.length > MAX_SAFE_LENGTH) return false;
  switch (name) {
    case "accept":
      return !isUnsafe(value);
    case "accept-language":
    case "content-language":
      return RegExpPrototypeExec(NOT_LANGUAGE, value) === null;
    case "content-type": {
      const essence = isUnsafe(value) ? undefined : mime.use().parseMimeType(value)?.essence;
      return essence === "application/x-www-form-urlencoded" || essence === "multipart/form-data" || essence === "text/plain";
    }
    default:
      return false;
  }
}

/** Whether headers with a guard refuse this; `before` is what the name has already, null if nothing, and is to be kept. */
function refuses(guard, name, value, before) {
  if (isForbidden(name, value)) return true;
  return guard === "request-no-cors" && !isSafelisted(name, before === null ? value : `${before}, ${value}`);
}

/** The headers that a request may begin with. */
function allowedList(guard, list) {
  const allowed = [];
  for (let i = 0; i < list.length; i += 2) {
    let before = null;
    for (let j = 0; j < allowed.length; j += 2) {
      if (allowed[j] === list[i]) before = before === null ? allowed[j + 1] : `${before}, ${allowed[j + 1]}`;
    }
    if (!refuses(guard, list[i], list[i + 1], before)) ArrayPrototypePush(allowed, list[i], list[i + 1]);
  }
  return allowed;
}

module.exports = { refuses, allowedList };
