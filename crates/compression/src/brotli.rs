//! brotli, by the `brotli` crate. Its memory is measured by the allocator that it is given.
//!
//! Deviations from Node: no custom dictionaries, and no windows above 16 MiB ("large window").

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use alloc_no_stdlib::{Allocator, SliceWrapper};
use alloc_stdlib::heap_alloc::WrapBox;
use brotli::enc::BrotliAlloc;
use brotli::enc::encode::{BrotliEncoderOperation, BrotliEncoderParameter, BrotliEncoderStateStruct};
use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState};

use crate::codec::CodecStep;
use crate::error::CodecError;

const FINISH: u32 = 2;
/// The block is what the encoder handles at once: no larger than what it chooses by itself.
const MAX_BLOCK_BITS: u32 = 18;
/// From this quality on a block of the largest size takes half a second.
const SLOW_QUALITY: u32 = 10;
const SLOW_BLOCK_BITS: u32 = 16;
const QUALITY: u32 = 1;
const WINDOW: u32 = 2;
const BLOCK: u32 = 3;
const DEFAULT_QUALITY: u32 = 11;
const DEFAULT_WINDOW_BITS: u32 = 22;
const MAX_WINDOW_BITS: u32 = 24;

/// Counts what is allocated by it.
#[derive(Clone, Default)]
struct CountingAlloc(Arc<AtomicU64>);

pub(crate) struct BrotliEncoder {
    state: BrotliEncoderStateStruct<CountingAlloc>,
    memory: CountingAlloc,
    params: Vec<(u32, u32)>,
    /// Its memory has been allocated.
    started: bool,
}

pub(crate) struct BrotliDecoder {
    state: BrotliState<CountingAlloc, CountingAlloc, CountingAlloc>,
    memory: CountingAlloc,
    params: Vec<(u32, u32)>,
    ended: bool,
}

// === impl CountingAlloc ===

impl<T: Clone + Default> Allocator<T> for CountingAlloc {
    type AllocatedMemory = WrapBox<T>;

    fn alloc_cell(&mut self, len: usize) -> WrapBox<T> {
        self.0.fetch_add((len * size_of::<T>()) as u64, Ordering::Relaxed);
        vec![T::default(); len].into()
    }

    fn free_cell(&mut self, data: WrapBox<T>) {
        self.0.fetch_sub(size_of_val(data.slice()) as u64, Ordering::Relaxed);
    }
}

impl BrotliAlloc for CountingAlloc {}

// === impl BrotliEncoder ===

impl BrotliEncoder {
    pub fn new(params: Vec<(u32, u32)>) -> Result<Self, CodecError> {
        let memory = CountingAlloc::default();
        let mut state = BrotliEncoderStateStruct::new(memory.clone());
        for (name, value) in &params {
            set(&mut state, *name, *value)?;
        }
        if last(&params, QUALITY, DEFAULT_QUALITY) >= SLOW_QUALITY {
            let bits = match last(&params, BLOCK, 0) {
                0 => SLOW_BLOCK_BITS,
                bits => bits.min(SLOW_BLOCK_BITS),
            };
            set(&mut state, BLOCK, bits)?;
        }
        Ok(Self { state, memory, params, started: false })
    }

    pub fn step(&mut self, input: &[u8], output: &mut [u8], flush: u32) -> Result<CodecStep, CodecError> {
        let operation = match flush {
            0 => BrotliEncoderOperation::BROTLI_OPERATION_PROCESS,
            1 => BrotliEncoderOperation::BROTLI_OPERATION_FLUSH,
            FINISH => BrotliEncoderOperation::BROTLI_OPERATION_FINISH,
            3 => BrotliEncoderOperation::BROTLI_OPERATION_EMIT_METADATA,
            _ => return Err(CodecError::stream("Zlib error")),
        };
        self.started = true;
        let (mut available_in, mut read) = (input.len(), 0);
        let (mut available_out, mut written) = (output.len(), 0);
        let ok = self.state.compress_stream(
            operation,
            &mut available_in,
            input,
            &mut read,
            &mut available_out,
            output,
            &mut written,
            &mut None,
            &mut |_, _, _, _| {},
        );
        if !ok {
            return Err(CodecError::new("ERR_BROTLI_COMPRESSION_FAILED", -1, "Compression failed"));
        }
        Ok(CodecStep { read, written, ended: self.state.is_finished(), more: false })
    }

    pub fn reset(&mut self) -> Result<(), CodecError> {
        *self = Self::new(std::mem::take(&mut self.params))?;
        Ok(())
    }

    pub fn memory(&self) -> u64 {
        self.memory.0.load(Ordering::Relaxed) + size_of::<Self>() as u64
    }

    /// What the next step will make of [`Self::memory`]: the ring buffer, and the tables of the best qualities.
    pub fn expected_memory(&self) -> u64 {
        if self.started {
            return self.memory();
        }
        let window = 1u64 << last(&self.params, WINDOW, DEFAULT_WINDOW_BITS).clamp(10, MAX_WINDOW_BITS);
        let is_slow = last(&self.params, QUALITY, DEFAULT_QUALITY) >= SLOW_QUALITY;
        self.memory().max(2 * window + if is_slow { 8 * window } else { 0 })
    }
}

fn last(params: &[(u32, u32)], wanted: u32, default: u32) -> u32 {
    params.iter().rev().find(|(name, _)| *name == wanted).map_or(default, |(_, value)| *value)
}

/// A parameter by the number that it has in brotli's C interface.
fn set(state: &mut BrotliEncoderStateStruct<CountingAlloc>, name: u32, value: u32) -> Result<(), CodecError> {
    use BrotliEncoderParameter as Parameter;
    let (parameter, value) = match name {
        0 => (Parameter::BROTLI_PARAM_MODE, value),
        1 => (Parameter::BROTLI_PARAM_QUALITY, value.min(11)),
        2 => (Parameter::BROTLI_PARAM_LGWIN, value.min(MAX_WINDOW_BITS)),
        3 => (Parameter::BROTLI_PARAM_LGBLOCK, value.min(MAX_BLOCK_BITS)),
        4 => (Parameter::BROTLI_PARAM_DISABLE_LITERAL_CONTEXT_MODELING, value),
        5 => (Parameter::BROTLI_PARAM_SIZE_HINT, value),
        // Large windows, and two numbers that the crate chooses by itself.
        6 if value == 0 => return Ok(()),
        7 | 8 => return Ok(()),
        _ => return Err(CodecError::initialization()),
    };
    if state.set_parameter(parameter, value) { Ok(()) } else { Err(CodecError::initialization()) }
}

// === impl BrotliDecoder ===

impl BrotliDecoder {
    pub fn new(params: Vec<(u32, u32)>) -> Result<Self, CodecError> {
        // 0: whether ring buffers may grow, which they may. 1: large windows.
        if params.iter().any(|(name, value)| *name > 1 || (*name == 1 && *value != 0)) {
            return Err(CodecError::initialization());
        }
        let memory = CountingAlloc::default();
        let mut state = BrotliState::new(memory.clone(), memory.clone(), memory.clone());
        state.large_window = false;
        Ok(Self { state, memory, params, ended: false })
    }

    pub fn step(&mut self, input: &[u8], output: &mut [u8], flush: u32) -> Result<CodecStep, CodecError> {
        if self.ended {
            return Ok(CodecStep { ended: true, ..CodecStep::default() });
        }
        let (mut available_in, mut read) = (input.len(), 0);
        let (mut available_out, mut written) = (output.len(), 0);
        let result = BrotliDecompressStream(
            &mut available_in,
            &mut read,
            input,
            &mut available_out,
            &mut written,
            output,
            &mut 0,
            &mut self.state,
        );
        match result {
            BrotliResult::ResultSuccess => self.ended = true,
            BrotliResult::NeedsMoreInput if flush == FINISH => return Err(CodecError::unexpected_end()),
            BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => {}
            BrotliResult::ResultFailure => return Err(decoder_error(self.state.error_code as i32)),
        }
        Ok(CodecStep { read, written, ended: self.ended, more: false })
    }

    pub fn reset(&mut self) -> Result<(), CodecError> {
        *self = Self::new(std::mem::take(&mut self.params))?;
        Ok(())
    }

    pub fn memory(&self) -> u64 {
        self.memory.0.load(Ordering::Relaxed) + size_of::<Self>() as u64
    }
}

/// Node takes brotli's name for the code: `BROTLI_DECODER_ERROR_FORMAT_RESERVED` is `ERR__ERROR_FORMAT_RESERVED`.
fn decoder_error(number: i32) -> CodecError {
    let name = match number {
        -1 => "FORMAT_EXUBERANT_NIBBLE",
        -2 => "FORMAT_RESERVED",
        -3 => "FORMAT_EXUBERANT_META_NIBBLE",
        -4 => "FORMAT_SIMPLE_HUFFMAN_ALPHABET",
        -5 => "FORMAT_SIMPLE_HUFFMAN_SAME",
        -6 => "FORMAT_CL_SPACE",
        -7 => "FORMAT_HUFFMAN_SPACE",
        -8 => "FORMAT_CONTEXT_MAP_REPEAT",
        -9 => "FORMAT_BLOCK_LENGTH_1",
        -10 => "FORMAT_BLOCK_LENGTH_2",
        -11 => "FORMAT_TRANSFORM",
        -12 => "FORMAT_DICTIONARY",
        -13 => "FORMAT_WINDOW_BITS",
        -14 => "FORMAT_PADDING_1",
        -15 => "FORMAT_PADDING_2",
        -16 => "FORMAT_DISTANCE",
        -17 => "FORMAT_BLOCK_SWITCH",
        -18 => "COMPOUND_DICTIONARY",
        -19 => "DICTIONARY_NOT_SET",
        -20 => "INVALID_ARGUMENTS",
        -21 => "ALLOC_CONTEXT_MODES",
        -22 => "ALLOC_TREE_GROUPS",
        -25 => "ALLOC_CONTEXT_MAP",
        -26 => "ALLOC_RING_BUFFER_1",
        -27 => "ALLOC_RING_BUFFER_2",
        -30 => "ALLOC_BLOCK_TYPE_TREES",
        _ => "UNREACHABLE",
    };
    CodecError::new(&format!("ERR__ERROR_{name}"), number, "Decompression failed")
}
