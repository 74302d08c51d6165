"use strict";
// The constants of node:zlib (https://nodejs.org/api/zlib.html#zlib-constants): those of zlib, brotli and zstd, and Node's
// numbers of its kinds of streams.

/** [prefix, names whose numbers count up, the first number] */
const RUNS = [
  ["Z_", "NO_FLUSH PARTIAL_FLUSH SYNC_FLUSH FULL_FLUSH FINISH BLOCK", 0],
  ["Z_", "OK STREAM_END NEED_DICT", 0],
  ["Z_", "VERSION_ERROR BUF_ERROR MEM_ERROR DATA_ERROR STREAM_ERROR ERRNO", -6],
  ["Z_", "NO_COMPRESSION BEST_SPEED", 0],
  ["Z_", "DEFAULT_STRATEGY FILTERED HUFFMAN_ONLY RLE FIXED", 0],
  ["", "DEFLATE INFLATE GZIP GUNZIP DEFLATERAW INFLATERAW UNZIP BROTLI_DECODE BROTLI_ENCODE ZSTD_COMPRESS ZSTD_DECOMPRESS", 1],
  ["BROTLI_OPERATION_", "PROCESS FLUSH FINISH EMIT_METADATA", 0],
  ["BROTLI_PARAM_", "MODE QUALITY LGWIN LGBLOCK DISABLE_LITERAL_CONTEXT_MODELING SIZE_HINT LARGE_WINDOW NPOSTFIX NDIRECT", 0],
  ["BROTLI_MODE_", "GENERIC TEXT FONT", 0],
  ["BROTLI_DECODER_RESULT_", "ERROR SUCCESS NEEDS_MORE_INPUT NEEDS_MORE_OUTPUT", 0],
  ["BROTLI_DECODER_PARAM_", "DISABLE_RING_BUFFER_REALLOCATION LARGE_WINDOW", 0],
  ["BROTLI_DECODER_", "NO_ERROR SUCCESS NEEDS_MORE_INPUT NEEDS_MORE_OUTPUT", 0],
  ["ZSTD_e_", "continue flush end", 0],
  ["ZSTD_", "fast dfast greedy lazy lazy2 btlazy2 btopt btultra btultra2", 1],
  ["ZSTD_c_", "compressionLevel windowLog hashLog chainLog searchLog minMatch targetLength strategy", 100],
  ["ZSTD_c_", "enableLongDistanceMatching ldmHashLog ldmMinMatch ldmBucketSizeLog ldmHashRateLog", 160],
  ["ZSTD_c_", "contentSizeFlag checksumFlag dictIDFlag", 200],
  ["ZSTD_c_", "nbWorkers jobSize overlapLog", 400],
];

const OTHERS = {
  Z_BEST_COMPRESSION: 9, Z_DEFAULT_COMPRESSION: -1,
  Z_MIN_WINDOWBITS: 8, Z_MAX_WINDOWBITS: 15, Z_DEFAULT_WINDOWBITS: 15,
  Z_MIN_CHUNK: 64, Z_MAX_CHUNK: Infinity, Z_DEFAULT_CHUNK: 16384,
  Z_MIN_MEMLEVEL: 1, Z_MAX_MEMLEVEL: 9, Z_DEFAULT_MEMLEVEL: 8,
  Z_MIN_LEVEL: -1, Z_MAX_LEVEL: 9, Z_DEFAULT_LEVEL: -1,
  ZLIB_VERNUM: 4880,
  BROTLI_DEFAULT_MODE: 0, BROTLI_MIN_QUALITY: 0, BROTLI_MAX_QUALITY: 11, BROTLI_DEFAULT_QUALITY: 11,
  BROTLI_MIN_WINDOW_BITS: 10, BROTLI_MAX_WINDOW_BITS: 24, BROTLI_LARGE_MAX_WINDOW_BITS: 30, BROTLI_DEFAULT_WINDOW: 22,
  BROTLI_MIN_INPUT_BLOCK_BITS: 16, BROTLI_MAX_INPUT_BLOCK_BITS: 24,
  BROTLI_DECODER_ERROR_FORMAT_EXUBERANT_NIBBLE: -1, BROTLI_DECODER_ERROR_FORMAT_RESERVED: -2,
  BROTLI_DECODER_ERROR_FORMAT_EXUBERANT_META_NIBBLE: -3, BROTLI_DECODER_ERROR_FORMAT_SIMPLE_HUFFMAN_ALPHABET: -4,
  BROTLI_DECODER_ERROR_FORMAT_SIMPLE_HUFFMAN_SAME: -5, BROTLI_DECODER_ERROR_FORMAT_CL_SPACE: -6,
  BROTLI_DECODER_ERROR_FORMAT_HUFFMAN_SPACE: -7, BROTLI_DECODER_ERROR_FORMAT_CONTEXT_MAP_REPEAT: -8,
  BROTLI_DECODER_ERROR_FORMAT_BLOCK_LENGTH_1: -9, BROTLI_DECODER_ERROR_FORMAT_BLOCK_LENGTH_2: -10,
  BROTLI_DECODER_ERROR_FORMAT_TRANSFORM: -11, BROTLI_DECODER_ERROR_FORMAT_DICTIONARY: -12,
  BROTLI_DECODER_ERROR_FORMAT_WINDOW_BITS: -13, BROTLI_DECODER_ERROR_FORMAT_PADDING_1: -14,
  BROTLI_DECODER_ERROR_FORMAT_PADDING_2: -15, BROTLI_DECODER_ERROR_FORMAT_DISTANCE: -16,
  BROTLI_DECODER_ERROR_COMPOUND_DICTIONARY: -18, BROTLI_DECODER_ERROR_DICTIONARY_NOT_SET: -19,
  BROTLI_DECODER_ERROR_INVALID_ARGUMENTS: -20, BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES: -21,
  BROTLI_DECODER_ERROR_ALLOC_TREE_GROUPS: -22, BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MAP: -25,
  BROTLI_DECODER_ERROR_ALLOC_RING_BUFFER_1: -26, BROTLI_DECODER_ERROR_ALLOC_RING_BUFFER_2: -27,
  BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES: -30, BROTLI_DECODER_ERROR_UNREACHABLE: -31,
  ZSTD_d_windowLogMax: 100, ZSTD_CLEVEL_DEFAULT: 3,
  ZSTD_error_no_error: 0, ZSTD_error_GENERIC: 1, ZSTD_error_prefix_unknown: 10, ZSTD_error_version_unsupported: 12,
  ZSTD_error_frameParameter_unsupported: 14, ZSTD_error_frameParameter_windowTooLarge: 16,
  ZSTD_error_corruption_detected: 20, ZSTD_error_checksum_wrong: 22, ZSTD_error_literals_headerWrong: 24,
  ZSTD_error_dictionary_corrupted: 30, ZSTD_error_dictionary_wrong: 32, ZSTD_error_dictionaryCreation_failed: 34,
  ZSTD_error_parameter_unsupported: 40, ZSTD_error_parameter_combination_unsupported: 41,
  ZSTD_error_parameter_outOfBound: 42, ZSTD_error_tableLog_tooLarge: 44, ZSTD_error_maxSymbolValue_tooLarge: 46,
  ZSTD_error_maxSymbolValue_tooSmall: 48, ZSTD_error_stabilityCondition_notRespected: 50, ZSTD_error_stage_wrong: 60,
  ZSTD_error_init_missing: 62, ZSTD_error_memory_allocation: 64, ZSTD_error_workSpace_tooSmall: 66,
  ZSTD_error_dstSize_tooSmall: 70, ZSTD_error_srcSize_wrong: 72, ZSTD_error_dstBuffer_null: 74,
  ZSTD_error_noForwardProgress_destFull: 80, ZSTD_error_noForwardProgress_inputEmpty: 82,
};

const constants = { __proto__: null, ...OTHERS };
for (const [prefix, names, first] of RUNS) {
  names.split(" ").forEach((name, at) => { constants[prefix + name] = first + at; });
}
Object.freeze(constants);

/** The codes of results by number, and the other way round. */
const codes = { __proto__: null };
const RESULTS = ["OK", "STREAM_END", "NEED_DICT", "ERRNO", "STREAM_ERROR", "DATA_ERROR", "MEM_ERROR", "BUF_ERROR", "VERSION_ERROR"];
for (const name of RESULTS.map((result) => `Z_${result}`)) {
  codes[name] = constants[name];
  codes[constants[name]] = name;
}
Object.freeze(codes);

module.exports = { codes, constants };
