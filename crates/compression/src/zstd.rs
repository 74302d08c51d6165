//! zstd, by the reference library.
//!
//! Deviations from Node: everything runs on one thread (`nbWorkers` is accepted and has no effect); windows and tables larger
//! than those of the highest level are made as small as those: the allocator ends the process where one piece of memory
//! comes near 2 GB. Frames with a larger window than 128 MiB are refused.

use zstd_safe::zstd_sys::ZSTD_EndDirective;
use zstd_safe::{CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, Strategy};

use crate::codec::CodecStep;
use crate::error::CodecError;

const END: u32 = 2;
const LEVEL: u32 = 100;
const WINDOW_LOG: u32 = 101;
const HASH_LOG: u32 = 102;
const CHAIN_LOG: u32 = 103;
const LONG_DISTANCE: u32 = 160;
const LONG_DISTANCE_HASH_LOG: u32 = 161;
const WINDOW_LOG_MAX: u32 = 100;
/// Logarithms that the highest level chooses: all of it is one allocation, of some 800 MB.
const MAX_WINDOW_LOG: u32 = 27;
const MAX_HASH_LOG: u32 = 25;
const MAX_CHAIN_LOG: u32 = 27;
const MAX_LONG_DISTANCE_HASH_LOG: u32 = 22;
/// Set even where it is not asked for: what the library derives from the other numbers has hardly a bound.
const DEFAULT_LONG_DISTANCE_HASH_LOG: u32 = 20;
/// Greater logarithms are none of the library's, and left to it to refuse.
const LIBRARY_MAX_LOG: u32 = 31;
/// What a decoder holds beside its window: two blocks and what it reads ahead.
const DECODER_BUFFERS: u64 = 512 * 1024;
/// A frame's header is no longer.
const MAX_HEADER: usize = 18;
const DEFAULT_LEVEL: i32 = 3;
/// Logarithms of window, hash table and chain table at a level and above, for inputs of unknown size.
const SIZES: [(i32, u32, u32, u32); 5] =
    [(20, 27, 25, 27), (16, 23, 22, 24), (10, 23, 22, 23), (6, 22, 21, 21), (-200, 21, 18, 18)];

pub(crate) struct ZstdEncoder {
    context: CCtx<'static>,
    /// What the app said.
    source_size: Option<u64>,
    /// Of the frame that begins, where all of its input is there.
    known_size: Option<u64>,
    params: Vec<(u32, u32)>,
    dictionary_size: u64,
    /// Its memory has been allocated.
    started: bool,
}

pub(crate) struct ZstdDecoder {
    context: DCtx<'static>,
    /// Within a frame: what comes is not its end.
    in_frame: bool,
    ended: bool,
    /// The first bytes of the frame, where they came in a piece too short for its header.
    header: Vec<u8>,
}

// === impl ZstdEncoder ===

impl ZstdEncoder {
    pub fn new(params: Vec<(u32, u32)>, source_size: Option<u64>, dictionary: Vec<u8>) -> Result<Self, CodecError> {
        let mut context = CCtx::try_create().ok_or_else(CodecError::memory)?;
        for (name, value) in &params {
            if let Some(parameter) = compression_parameter(*name, *value)? {
                context.set_parameter(parameter).map_err(|_| CodecError::initialization())?;
            }
        }
        if !dictionary.is_empty() {
            context.load_dictionary(&dictionary).map_err(error)?;
        }
        let log =
            last(&params, LONG_DISTANCE_HASH_LOG).filter(|log| *log != 0).unwrap_or(DEFAULT_LONG_DISTANCE_HASH_LOG);
        let log = CParameter::LdmHashLog(log.min(MAX_LONG_DISTANCE_HASH_LOG));
        context.set_parameter(log).map_err(|_| CodecError::initialization())?;
        context.set_pledged_src_size(source_size).map_err(error)?;
        let dictionary_size = dictionary.len() as u64;
        Ok(Self { context, source_size, known_size: None, params, dictionary_size, started: false })
    }

    pub fn step(&mut self, input: &[u8], output: &mut [u8], flush: u32) -> Result<CodecStep, CodecError> {
        let directive = match flush {
            0 => ZSTD_EndDirective::ZSTD_e_continue,
            1 => ZSTD_EndDirective::ZSTD_e_flush,
            END => ZSTD_EndDirective::ZSTD_e_end,
            _ => return Err(CodecError::stream("Zlib error")),
        };
        if output.is_empty() {
            return Ok(CodecStep::default());
        }
        let mut from = InBuffer::around(input);
        let mut to = OutBuffer::around(output);
        let left = self.context.compress_stream2(&mut to, &mut from, directive).map_err(error)?;
        let written = to.pos();
        // What comes after the end is another frame, which may need more.
        self.started = flush != END || left > 0;
        self.known_size = None;
        Ok(CodecStep { read: from.pos(), written, ended: flush == END && left == 0, more: false })
    }

    pub fn reset(&mut self) -> Result<(), CodecError> {
        self.context.reset(zstd_safe::ResetDirective::SessionOnly).map_err(error)?;
        self.context.set_pledged_src_size(self.source_size).map_err(error)?;
        self.started = false;
        self.known_size = None;
        Ok(())
    }

    pub fn memory(&self) -> u64 {
        self.context.sizeof() as u64
    }

    pub fn expect_input(&mut self, length: u64, flush: u32) -> Result<(), CodecError> {
        if !self.started && flush == END && self.source_size.is_none() {
            self.context.set_pledged_src_size(Some(length)).map_err(error)?;
            self.known_size = Some(length);
        }
        Ok(())
    }

    /// What the next step will make of [`Self::memory`]: the first of a frame allocates.
    pub fn expected_memory(&self) -> u64 {
        if self.started {
            return self.memory();
        }
        self.memory().max(expected(&self.params, self.source_size.or(self.known_size), self.dictionary_size))
    }
}

/// A parameter by the number that it has in zstd's C interface; none where one thread has no use for it.
fn compression_parameter(name: u32, value: u32) -> Result<Option<CParameter>, CodecError> {
    let signed = value as i32;
    Ok(Some(match name {
        LEVEL => CParameter::CompressionLevel(signed),
        WINDOW_LOG => CParameter::WindowLog(capped(value, MAX_WINDOW_LOG)),
        HASH_LOG => CParameter::HashLog(capped(value, MAX_HASH_LOG)),
        CHAIN_LOG => CParameter::ChainLog(capped(value, MAX_CHAIN_LOG)),
        104 => CParameter::SearchLog(value),
        105 => CParameter::MinMatch(value),
        106 => CParameter::TargetLength(value),
        107 => CParameter::Strategy(match value {
            1 => Strategy::ZSTD_fast,
            2 => Strategy::ZSTD_dfast,
            3 => Strategy::ZSTD_greedy,
            4 => Strategy::ZSTD_lazy,
            5 => Strategy::ZSTD_lazy2,
            6 => Strategy::ZSTD_btlazy2,
            7 => Strategy::ZSTD_btopt,
            8 => Strategy::ZSTD_btultra,
            9 => Strategy::ZSTD_btultra2,
            _ => return Err(CodecError::initialization()),
        }),
        LONG_DISTANCE => CParameter::EnableLongDistanceMatching(value != 0),
        LONG_DISTANCE_HASH_LOG => CParameter::LdmHashLog(capped(value, MAX_LONG_DISTANCE_HASH_LOG)),
        162 => CParameter::LdmMinMatch(value),
        163 => CParameter::LdmBucketSizeLog(value),
        164 => CParameter::LdmHashRateLog(value),
        200 => CParameter::ContentSizeFlag(value != 0),
        201 => CParameter::ChecksumFlag(value != 0),
        202 => CParameter::DictIdFlag(value != 0),
        400..=402 => return Ok(None),
        _ => return Err(CodecError::initialization()),
    }))
}

fn capped(log: u32, max: u32) -> u32 {
    if log > LIBRARY_MAX_LOG { log } else { log.min(max) }
}

fn last(params: &[(u32, u32)], wanted: u32) -> Option<u32> {
    params.iter().rev().find(|(name, _)| *name == wanted).map(|(_, value)| *value)
}

/// About what the first step allocates.
fn expected(params: &[(u32, u32)], source_size: Option<u64>, dictionary_size: u64) -> u64 {
    let tables = tables(params, source_size, dictionary_size);
    // A dictionary has tables of its own, and a copy of itself.
    let dictionary = if dictionary_size == 0 { 0 } else { self::tables(params, Some(dictionary_size), 0) };
    tables + dictionary + dictionary_size
}

/// Window and tables: the library makes them no larger than the content needs.
fn tables(params: &[(u32, u32)], source_size: Option<u64>, dictionary_size: u64) -> u64 {
    let level = last(params, LEVEL).map_or(DEFAULT_LEVEL, |level| level as i32);
    let sizes = SIZES.into_iter().find(|(from, ..)| level >= *from).unwrap_or(SIZES[SIZES.len() - 1]);
    let log = |name, default, max| last(params, name).filter(|log| *log != 0).unwrap_or(default).min(max);
    let has_long_distance = last(params, LONG_DISTANCE).is_some_and(|value| value != 0);
    let window = log(WINDOW_LOG, if has_long_distance { MAX_WINDOW_LOG } else { sizes.1 }, MAX_WINDOW_LOG);
    let content_log = |bytes: u64| bytes.checked_next_power_of_two().map_or(63, u64::ilog2).max(10);
    let window = source_size.map_or(window, |size| window.min(content_log(size.saturating_add(dictionary_size))));
    // A byte in reach is in one of the two tables at most twice.
    let reach = content_log((1 << window) + dictionary_size) + 1;
    let (hash, chain) = (log(HASH_LOG, sizes.2, MAX_HASH_LOG), log(CHAIN_LOG, sizes.3, MAX_CHAIN_LOG));
    // Strong strategies with the largest window look at long distances without being told.
    let long_distance = if has_long_distance || window >= MAX_WINDOW_LOG {
        8u64 << log(LONG_DISTANCE_HASH_LOG, DEFAULT_LONG_DISTANCE_HASH_LOG, MAX_LONG_DISTANCE_HASH_LOG)
    } else {
        0
    };
    (1u64 << window) + (4u64 << hash.min(reach)) + (4u64 << chain.min(reach)) + long_distance
}

// === impl ZstdDecoder ===

impl ZstdDecoder {
    pub fn new(params: Vec<(u32, u32)>, dictionary: Vec<u8>) -> Result<Self, CodecError> {
        let mut context = DCtx::try_create().ok_or_else(CodecError::memory)?;
        for (name, value) in params {
            if name != WINDOW_LOG_MAX {
                return Err(CodecError::initialization());
            }
            let log = capped(value, MAX_WINDOW_LOG);
            context.set_parameter(DParameter::WindowLogMax(log)).map_err(|_| CodecError::initialization())?;
        }
        if !dictionary.is_empty() {
            context.load_dictionary(&dictionary).map_err(error)?;
        }
        Ok(Self { context, in_frame: false, ended: false, header: Vec::new() })
    }

    /// Reads frame after frame; `ended` after each.
    pub fn step(&mut self, input: &[u8], output: &mut [u8], flush: u32) -> Result<CodecStep, CodecError> {
        if output.is_empty() {
            return Ok(CodecStep::default());
        }
        if input.is_empty() && !self.in_frame {
            if flush == END && !self.ended {
                return Err(CodecError::unexpected_end());
            }
            return Ok(CodecStep { ended: self.ended, ..CodecStep::default() });
        }
        let mut from = InBuffer::around(input);
        let mut to = OutBuffer::around(output);
        let left = self.context.decompress_stream(&mut to, &mut from).map_err(error)?;
        let (read, written) = (from.pos(), to.pos());
        if left == 0 {
            self.header.clear();
        } else if self.header.len() < MAX_HEADER {
            self.header.extend(input[..read].iter().take(MAX_HEADER - self.header.len()));
        }
        self.in_frame = left != 0;
        self.ended = left == 0;
        if flush == END && self.in_frame && read == input.len() && written < output.len() {
            return Err(CodecError::unexpected_end());
        }
        Ok(CodecStep { read, written, ended: self.ended, more: false })
    }

    pub fn reset(&mut self) -> Result<(), CodecError> {
        self.in_frame = false;
        self.ended = false;
        self.header.clear();
        self.context.reset(zstd_safe::ResetDirective::SessionOnly).map(drop).map_err(error)
    }

    pub fn memory(&self) -> u64 {
        self.context.sizeof() as u64
    }

    /// What a step with this input will make of [`Self::memory`], at most: the window is allocated once the header is read.
    pub fn expected_memory(&self, input: &[u8]) -> u64 {
        if self.header.len() >= MAX_HEADER {
            return self.memory();
        }
        let mut header = [0; MAX_HEADER];
        let bytes = self.header.iter().chain(input).take(MAX_HEADER);
        let length = header.iter_mut().zip(bytes).map(|(into, byte)| *into = *byte).count();
        let window = window(&header[..length]).unwrap_or(0).min(1 << MAX_WINDOW_LOG);
        self.memory().max(window + DECODER_BUFFERS)
    }
}

/// How much of the content a decoder keeps, by a frame's header (RFC 8878, 3.1.1.1). None where it is incomplete or another's.
fn window(header: &[u8]) -> Option<u64> {
    let (magic, rest) = header.split_first_chunk::<4>()?;
    if *magic != [0x28, 0xb5, 0x2f, 0xfd] {
        return None;
    }
    let (&descriptor, rest) = rest.split_first()?;
    if descriptor & 0x20 == 0 {
        let window = u64::from(*rest.first()?);
        let base = 1u64 << (10 + (window >> 3));
        return Some(base + base / 8 * (window & 7));
    }
    // The window is the content, whose size comes after the dictionary's name.
    let rest = rest.get([0, 1, 2, 4][usize::from(descriptor & 3)]..)?;
    let (digits, offset) = [(1, 0), (2, 256), (4, 0), (8, 0)][usize::from(descriptor >> 6)];
    let size = rest.get(..digits)?.iter().rev().fold(0u64, |size, digit| size << 8 | u64::from(*digit));
    Some(size.saturating_add(offset))
}

/// The library's code counts down from the largest number. Node names it as the library's enumeration does.
fn error(code: usize) -> CodecError {
    let number = 0usize.wrapping_sub(code);
    let name = match number {
        10 => "prefix_unknown",
        12 => "version_unsupported",
        14 => "frameParameter_unsupported",
        16 => "frameParameter_windowTooLarge",
        20 => "corruption_detected",
        22 => "checksum_wrong",
        24 => "literals_headerWrong",
        30 => "dictionary_corrupted",
        32 => "dictionary_wrong",
        34 => "dictionaryCreation_failed",
        40 => "parameter_unsupported",
        41 => "parameter_combination_unsupported",
        42 => "parameter_outOfBound",
        44 => "tableLog_tooLarge",
        46 => "maxSymbolValue_tooLarge",
        48 => "maxSymbolValue_tooSmall",
        50 => "stabilityCondition_notRespected",
        60 => "stage_wrong",
        62 => "init_missing",
        64 => "memory_allocation",
        66 => "workSpace_tooSmall",
        70 => "dstSize_tooSmall",
        72 => "srcSize_wrong",
        74 => "dstBuffer_null",
        80 => "noForwardProgress_destFull",
        82 => "noForwardProgress_inputEmpty",
        _ => "GENERIC",
    };
    CodecError::new(&format!("ZSTD_error_{name}"), number as i32, zstd_safe::get_error_name(code))
}
