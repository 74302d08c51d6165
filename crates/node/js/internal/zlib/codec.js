"use strict";
// What is beneath a stream of node:zlib: the options as the runtime's codec wants them, checked as Node checks them.

const { Codec } = binding("zlib");
const { codes, genericNodeError } = require("internal/errors");
const { checkRangesOrGetDefault } = require("internal/validators");
const { constants } = require("internal/zlib/constants");

const {
  BROTLI_DECODE, BROTLI_ENCODE, DEFLATE, DEFLATERAW, GUNZIP, GZIP, INFLATE, INFLATERAW, UNZIP, ZSTD_COMPRESS, ZSTD_DECOMPRESS,
  Z_DEFAULT_COMPRESSION, Z_DEFAULT_MEMLEVEL, Z_DEFAULT_STRATEGY, Z_DEFAULT_WINDOWBITS, Z_FIXED, Z_MAX_LEVEL, Z_MAX_MEMLEVEL,
  Z_MAX_WINDOWBITS, Z_MIN_LEVEL, Z_MIN_MEMLEVEL, Z_MIN_WINDOWBITS,
} = constants;

/** The runtime's name for each mode. */
const KINDS = {
  [DEFLATE]: "deflate", [INFLATE]: "inflate", [GZIP]: "gzip", [GUNZIP]: "gunzip", [DEFLATERAW]: "deflate-raw",
  [INFLATERAW]: "inflate-raw", [UNZIP]: "unzip", [BROTLI_ENCODE]: "brotli", [BROTLI_DECODE]: "unbrotli",
  [ZSTD_COMPRESS]: "zstd", [ZSTD_DECOMPRESS]: "unzstd",
};
const UNKNOWN_SIZE = -1;

/** [message, code, errno] as Node's error. */
function codecError([message, code, errno]) {
  return genericNodeError(message, { errno, code });
}

function open(mode, numbers, dictionary) {
  try {
    return new Codec(KINDS[mode], numbers, dictionary);
  } catch (error) {
    if (!Array.isArray(error)) throw error;
    if (error[1] === "ERR_ZLIB_INITIALIZATION_FAILED") throw new codes.ERR_ZLIB_INITIALIZATION_FAILED();
    throw codecError(error);
  }
}

function dictionaryOf(options) {
  const dictionary = options?.dictionary;
  if (dictionary === undefined || ArrayBuffer.isView(dictionary)) return dictionary;
  if (dictionary instanceof ArrayBuffer) return new Uint8Array(dictionary);
  throw new codes.ERR_INVALID_ARG_TYPE("options.dictionary", ["Buffer", "TypedArray", "DataView", "ArrayBuffer"], dictionary);
}

/** { codec, level, strategy } of zlib's own formats. */
function openZlib(mode, options) {
  const ranged = (name, lower, upper, fallback) =>
    checkRangesOrGetDefault(options?.[name], `options.${name}`, lower, upper, fallback);
  // Zero is for reading alone: the window that the header says.
  const fromHeader = options && !options.windowBits && (options.windowBits == null || options.windowBits === 0)
    && (mode === INFLATE || mode === GUNZIP || mode === UNZIP);
  const minBits = Z_MIN_WINDOWBITS + (mode === GZIP ? 1 : 0);
  const windowBits = fromHeader ? 0 : ranged("windowBits", minBits, Z_MAX_WINDOWBITS, Z_DEFAULT_WINDOWBITS);
  const level = ranged("level", Z_MIN_LEVEL, Z_MAX_LEVEL, Z_DEFAULT_COMPRESSION);
  const memLevel = ranged("memLevel", Z_MIN_MEMLEVEL, Z_MAX_MEMLEVEL, Z_DEFAULT_MEMLEVEL);
  const strategy = ranged("strategy", Z_DEFAULT_STRATEGY, Z_FIXED, Z_DEFAULT_STRATEGY);
  const dictionary = dictionaryOf(options);
  const afterMember = options?.rejectGarbageAfterEnd === true ? 1 : 0;
  return { codec: open(mode, [level, windowBits, memLevel, strategy, afterMember], dictionary), level, strategy };
}

/** Names and values of `options.params`, one after the other. */
function paramsOf(options, max, InvalidParam) {
  const list = [];
  const seen = new Set();
  for (const name of Object.keys(options?.params ?? {})) {
    const number = +name;
    if (Number.isNaN(number) || number < 0 || number > max || seen.has(number)) throw new InvalidParam(name);
    const value = options.params[name];
    if (typeof value !== "number" && typeof value !== "boolean") {
      throw new codes.ERR_INVALID_ARG_TYPE("options.params[key]", "number", value);
    }
    seen.add(number);
    list.push(number, Number(value));
  }
  return list;
}

const maxOf = (prefix) => Math.max(...Object.keys(constants).filter((name) => name.startsWith(prefix)).map((name) => constants[name]));

function openBrotli(mode, options) {
  const params = paramsOf(options, maxOf("BROTLI_PARAM_"), codes.ERR_BROTLI_INVALID_PARAM);
  if (dictionaryOf(options) !== undefined) throw new codes.ERR_ZLIB_INITIALIZATION_FAILED();
  return open(mode, params, undefined);
}

function openZstd(mode, options) {
  const params = paramsOf(options, maxOf(mode === ZSTD_COMPRESS ? "ZSTD_c_" : "ZSTD_d_"), codes.ERR_ZSTD_INVALID_PARAM);
  const size = options?.pledgedSrcSize;
  const dictionary = options?.dictionary;
  const bytes = ArrayBuffer.isView(dictionary) || dictionary instanceof ArrayBuffer ? dictionary : undefined;
  return open(mode, [size === undefined ? UNKNOWN_SIZE : Number(size), ...params], bytes);
}

module.exports = { codecError, openBrotli, openZlib, openZstd };
