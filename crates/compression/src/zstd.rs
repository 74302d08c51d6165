//! zstd, by the reference library.
//!
//! Deviations from Node: everything runs on one thread (`nbWorkers` is accepted and has no effect).

use zstd_safe::zstd_sys::ZSTD_EndDirective;
use zstd_safe::{CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, Strategy};

use crate::codec::CodecStep;
use crate::error::CodecError;

const END: u32 = 2;
const LEVEL: u32 = 100;
const WINDOW_LOG: u32 = 101;
const HASH_LOG: u32 = 102;
const CHAIN_LOG: u32 = 103;
const WINDOW_LOG_MAX: u32 = 100;
const DEFAULT_LEVEL: i32 = 3;
/// Logarithms of window, hash table and chain table at a level and above, for inputs of unknown size.
const SIZES: [(i32, u32, u32, u32); 5] =
    [(20, 27, 25, 27), (16, 23, 22, 24), (10, 23, 22, 23), (6, 22, 21, 21), (-200, 21, 18, 18)];

pub(crate) struct ZstdEncoder {
    context: CCtx<'static>,
    source_size: Option<u64>,
    /// Whether all input of the frame has been given.
    ending: bool,
    expected: u64,
}

pub(crate) struct ZstdDecoder {
    context: DCtx<'static>,
    /// Within a frame: what comes is not its end.
    in_frame: bool,
    ended: bool,
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
        context.set_pledged_src_size(source_size).map_err(error)?;
        Ok(Self { context, source_size, ending: false, expected: expected(&params) })
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
        self.ending = flush == END && left > 0;
        Ok(CodecStep { read: from.pos(), written, ended: flush == END && left == 0, more: false })
    }

    pub fn reset(&mut self) -> Result<(), CodecError> {
        self.context.reset(zstd_safe::ResetDirective::SessionOnly).map_err(error)?;
        self.context.set_pledged_src_size(self.source_size).map_err(error)?;
        self.ending = false;
        Ok(())
    }

    pub fn memory(&self) -> u64 {
        self.context.sizeof() as u64
    }

    pub fn expected_memory(&self) -> u64 {
        self.memory().max(self.expected)
    }
}

/// A parameter by the number that it has in zstd's C interface; none where one thread has no use for it.
fn compression_parameter(name: u32, value: u32) -> Result<Option<CParameter>, CodecError> {
    let signed = value as i32;
    Ok(Some(match name {
        LEVEL => CParameter::CompressionLevel(signed),
        WINDOW_LOG => CParameter::WindowLog(value),
        HASH_LOG => CParameter::HashLog(value),
        CHAIN_LOG => CParameter::ChainLog(value),
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
        160 => CParameter::EnableLongDistanceMatching(value != 0),
        161 => CParameter::LdmHashLog(value),
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

/// About what the first step allocates if it does not know how little will come.
fn expected(params: &[(u32, u32)]) -> u64 {
    let find = |wanted| params.iter().rev().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    let level = find(LEVEL).map_or(DEFAULT_LEVEL, |level| level as i32);
    let sizes = SIZES.into_iter().find(|(from, ..)| level >= *from).unwrap_or(SIZES[SIZES.len() - 1]);
    let bits = |name, default| find(name).filter(|bits| *bits != 0).unwrap_or(default).min(31);
    let (window, hash, chain) = (bits(WINDOW_LOG, sizes.1), bits(HASH_LOG, sizes.2), bits(CHAIN_LOG, sizes.3));
    (1u64 << window) + (4u64 << hash) + (4u64 << chain)
}

// === impl ZstdDecoder ===

impl ZstdDecoder {
    pub fn new(params: Vec<(u32, u32)>, dictionary: Vec<u8>) -> Result<Self, CodecError> {
        let mut context = DCtx::try_create().ok_or_else(CodecError::memory)?;
        for (name, value) in params {
            if name != WINDOW_LOG_MAX {
                return Err(CodecError::initialization());
            }
            context.set_parameter(DParameter::WindowLogMax(value)).map_err(|_| CodecError::initialization())?;
        }
        if !dictionary.is_empty() {
            context.load_dictionary(&dictionary).map_err(error)?;
        }
        Ok(Self { context, in_frame: false, ended: false })
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
        self.context.reset(zstd_safe::ResetDirective::SessionOnly).map(drop).map_err(error)
    }

    pub fn memory(&self) -> u64 {
        self.context.sizeof() as u64
    }
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
