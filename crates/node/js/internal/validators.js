"use strict";
// Checks of arguments that Node's modules share. Each throws one of Node's errors, and names the argument as it is told.

const { codes, hideStackFrames } = require("internal/errors");
const {
  ERR_INVALID_ARG_TYPE, ERR_INVALID_ARG_VALUE, ERR_INVALID_THIS, ERR_OUT_OF_RANGE, ERR_SOCKET_BAD_PORT, ERR_UNKNOWN_SIGNAL,
} = codes;

const kValidateObjectNone = 0;
const kValidateObjectAllowNullable = 1;
const kValidateObjectAllowArray = 2;
const kValidateObjectAllowFunction = 4;
const kValidateObjectAllowObjects = kValidateObjectAllowArray | kValidateObjectAllowFunction;
const kValidateObjectAllowObjectsAndNull = kValidateObjectAllowObjects | kValidateObjectAllowNullable;

const isInt32 = (value) => value === (value | 0);
const isUint32 = (value) => value === value >>> 0;

/** A check of `typeof`, named in errors as `type`. */
function typeCheck(type, accepts) {
  return (value, name) => {
    if (!accepts(value)) throw new ERR_INVALID_ARG_TYPE(name, type, value);
  };
}

const validateString = typeCheck("string", (value) => typeof value === "string");
const validateBoolean = typeCheck("boolean", (value) => typeof value === "boolean");
const validateFunction = typeCheck("Function", (value) => typeof value === "function");
const validateUndefined = typeCheck("undefined", (value) => value === undefined);
const validatePlainFunction = typeCheck("Function", (value) =>
  typeof value === "function" && Object.prototype.toString.call(value) !== "[object AsyncFunction]");
const validateDictionary = typeCheck("a dictionary", (value) =>
  value === undefined || value === null || typeof value === "object" || typeof value === "function");
const validateAbortSignal = typeCheck("AbortSignal", (value) =>
  value === undefined || (value !== null && typeof value === "object" && "aborted" in value));

function validateBuffer(value, name = "buffer") {
  if (!ArrayBuffer.isView(value)) throw new ERR_INVALID_ARG_TYPE(name, ["Buffer", "TypedArray", "DataView"], value);
}

function validateStringWithoutNullBytes(value, name) {
  validateString(value, name);
  if (value.includes("\0")) throw new ERR_INVALID_ARG_VALUE(name, value, "must be a string without null bytes");
}

function validateWhole(value, name, min, max) {
  if (typeof value !== "number") throw new ERR_INVALID_ARG_TYPE(name, "number", value);
  if (!Number.isInteger(value)) throw new ERR_OUT_OF_RANGE(name, "an integer", value);
  if (value < min || value > max) throw new ERR_OUT_OF_RANGE(name, `>= ${min} && <= ${max}`, value);
}

function validateInteger(value, name, min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER) {
  validateWhole(value, name, min, max);
}

function validateInt32(value, name, min = -2147483648, max = 2147483647) {
  validateWhole(value, name, min, max);
}

function validateUint32(value, name, positive = false) {
  validateWhole(value, name, positive ? 1 : 0, 4294967295);
}

function validateNumber(value, name, min = undefined, max = undefined) {
  if (typeof value !== "number") throw new ERR_INVALID_ARG_TYPE(name, "number", value);
  const hasMin = min !== undefined && min !== null, hasMax = max !== undefined && max !== null;
  if ((hasMin && value < min) || (hasMax && value > max) || ((hasMin || hasMax) && Number.isNaN(value))) {
    const range = [hasMin ? `>= ${min}` : "", hasMax ? `<= ${max}` : ""].filter(Boolean).join(" && ");
    throw new ERR_OUT_OF_RANGE(name, range, value);
  }
}

/** False for undefined and NaN, true for finite numbers. */
function validateFiniteNumber(value, name) {
  if (value === undefined || Number.isNaN(value)) return false;
  if (Number.isFinite(value)) return true;
  validateNumber(value, name);
  throw new ERR_OUT_OF_RANGE(name, "a finite number", value);
}

function checkRangesOrGetDefault(value, name, lower, upper, fallback) {
  if (!validateFiniteNumber(value, name)) return fallback;
  if (value < lower || value > upper) throw new ERR_OUT_OF_RANGE(name, `>= ${lower} and <= ${upper}`, value);
  return value;
}

function validateOneOf(value, name, allowed) {
  if (allowed.includes(value)) return;
  const list = allowed.map((one) => (typeof one === "string" ? `'${one}'` : String(one))).join(", ");
  throw new ERR_INVALID_ARG_VALUE(name, value, `must be one of: ${list}`);
}

function validateUnion(value, name, union) {
  if (!union.includes(value)) throw new ERR_INVALID_ARG_TYPE(name, `('${union.join("|")}')`, value);
}

function validateObject(value, name, options = kValidateObjectNone) {
  const type = typeof value;
  const accepted = value === null ? options & kValidateObjectAllowNullable
    : Array.isArray(value) ? options & kValidateObjectAllowArray
      : type === "object" || (type === "function" && options & kValidateObjectAllowFunction);
  if (!accepted) throw new ERR_INVALID_ARG_TYPE(name, "Object", value);
}

function validateArray(value, name, minLength = 0) {
  if (!Array.isArray(value)) throw new ERR_INVALID_ARG_TYPE(name, "Array", value);
  if (value.length < minLength) throw new ERR_INVALID_ARG_VALUE(name, value, `must have a length of at least ${minLength}`);
}

function arrayOf(validateItem) {
  return (value, name) => {
    validateArray(value, name);
    for (let i = 0; i < value.length; i++) validateItem(value[i], `${name}[${i}]`);
  };
}

const validateStringArray = arrayOf(validateString);
const validateBooleanArray = arrayOf(validateBoolean);
const validateAbortSignalArray = arrayOf((signal, name) => {
  if (signal === undefined) throw new ERR_INVALID_ARG_TYPE(name, "AbortSignal", signal);
  validateAbortSignal(signal, name);
});

function validateSignalName(signal, name = "signal") {
  validateString(signal, name);
  const { signals } = require("internal/signals");
  if (signals[signal] !== undefined) return;
  const hint = signals[signal.toUpperCase()] === undefined ? "" : " (signals must use all capital letters)";
  throw new ERR_UNKNOWN_SIGNAL(signal + hint);
}

function validateEncoding(data, encoding) {
  if (`${encoding}`.toLowerCase() === "hex" && data.length % 2 !== 0) {
    throw new ERR_INVALID_ARG_VALUE("encoding", encoding, `is invalid for data of length ${data.length}`);
  }
}

/** The port as a number. */
function validatePort(port, name = "Port", allowZero = true) {
  const number = +(typeof port === "number" || typeof port === "string" ? port : NaN);
  const empty = typeof port === "string" && port.trim() === "";
  if (empty || number !== number >>> 0 || number > 0xffff || (number === 0 && !allowZero)) {
    throw new ERR_SOCKET_BAD_PORT(name, port, allowZero);
  }
  return number | 0;
}

/** A file's mode: a number, or octal digits. */
function parseFileMode(value, name, fallback) {
  value ??= fallback;
  if (typeof value === "string") {
    if (!/^[0-7]+$/.test(value)) {
      throw new ERR_INVALID_ARG_VALUE(name, value, "must be a 32-bit unsigned integer or an octal string");
    }
    value = Number.parseInt(value, 8);
  }
  validateUint32(value, name);
  return value + 0;
}

const LINK = /^(?:<[^>\r\n]*>)(?:\s*;\s*[^;"\s]+(?:=(")?[^;"\s]*\1)?)*$/;
const LINK_RULE = 'must be an array or string of format "</styles.css>; rel=preload; as=style"';

/** The value of a Link header from one link or an array of them. */
function validateLinkHeaderValue(hints) {
  const links = Array.isArray(hints) ? hints : [hints];
  for (const link of links) {
    if (typeof link !== "string" || !LINK.test(link)) throw new ERR_INVALID_ARG_VALUE("hints", link, LINK_RULE);
  }
  return links.join(", ");
}

function validateThisInternalField(object, field, className) {
  if (typeof object !== "object" || object === null || !Object.hasOwn(object, field)) throw new ERR_INVALID_THIS(className);
}

const validators = {
  checkRangesOrGetDefault, parseFileMode, validateAbortSignal, validateAbortSignalArray, validateArray, validateBoolean,
  validateBooleanArray, validateBuffer, validateDictionary, validateEncoding, validateFiniteNumber, validateFunction,
  validateInt32, validateInteger, validateLinkHeaderValue, validateNumber, validateObject, validateOneOf,
  validatePlainFunction, validatePort, validateSignalName, validateString, validateStringArray,
  validateStringWithoutNullBytes, validateThisInternalField, validateUint32, validateUndefined, validateUnion,
};
for (const name of Object.keys(validators)) hideStackFrames(validators[name]);

module.exports = {
  ...validators, isInt32, isUint32, kValidateObjectAllowArray, kValidateObjectAllowFunction, kValidateObjectAllowNullable,
  kValidateObjectAllowObjects, kValidateObjectAllowObjectsAndNull, kValidateObjectNone,
};
