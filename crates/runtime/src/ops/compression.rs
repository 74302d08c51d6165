//! Compressors and decompressors, by handle: an object owns each, and it goes with the object or when it is freed. A call
//! does one step (`hearth_compression::MAX_STEP`), so a turn can be ended between two of them.
//!
//! What codecs hold counts against the app's account of memory outside of its isolates. Where that is full, garbage is
//! collected once, for codecs that were dropped without being freed.

use std::collections::HashMap;

use hearth_compression::{AfterMember, Codec, CodecError, CodecStep, Config, ZlibConfig, ZlibMode, crc32};
use hearth_core::memory::Charge;

use super::convert::{id_of, string_of, text_value, with_bytes};
use super::{Arguments, Return};
use crate::context_state::ContextState;
use crate::natives;
use crate::op_error::OpError;
use crate::request_table::ById;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

/// What the object that owns a codec holds beside what is charged: entries in tables.
const OWNER_SIZE: u64 = 512;
const FLAG_MORE: u32 = 1;
const FLAG_ENDED: u32 = 2;

struct Entry {
    codec: Codec,
    charge: Charge,
}

/// Kept with the isolate.
#[derive(Default)]
struct Codecs {
    entries: HashMap<u64, Entry, ById>,
    next: u64,
}

impl Codecs {
    fn of(isolate: &mut v8::Isolate) -> &mut Self {
        if isolate.get_slot::<Self>().is_none() {
            isolate.set_slot(Self::default());
        }
        isolate.get_slot_mut().expect("the slot was filled above")
    }
}

/// Charges what a codec holds, or will.
fn set_charge(scope: Scope<'_, '_, '_>, charge: &mut Charge, bytes: u64) -> Result<(), OpError> {
    if charge.try_set(bytes).is_ok() {
        return Ok(());
    }
    scope.low_memory_notification();
    Ok(charge.try_set(bytes)?)
}

/// (owner, kind, numbers, dictionary or undefined) -> a handle, or [message, code, errno]
pub(super) fn op_codec_new<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let owner = v8::Local::<v8::Object>::try_from(args.get(0));
    let owner = owner.map_err(|_| OpError::type_error("internal: an object was expected"))?;
    let kind = string_of(scope, args.get(1))?;
    let numbers = numbers_of(scope, args.get(2))?;
    let mut charge = ContextState::current(scope).app.meters.memory.open();
    let dictionary = if args.get(3).is_undefined() {
        Vec::new()
    } else {
        // A codec may copy it once more.
        let length = with_bytes(args.get(3), |bytes| bytes.len())?;
        set_charge(scope, &mut charge, 2 * length as u64)?;
        with_bytes(args.get(3), |bytes| bytes.to_vec())?
    };
    let config = config(&kind, &numbers, dictionary)?;
    let codec = match Codec::new(config) {
        Ok(codec) => codec,
        Err(error) => return error_value(scope, &error, rv),
    };
    set_charge(scope, &mut charge, codec.memory())?;
    let entry = Entry { codec, charge };
    let codecs = Codecs::of(scope);
    codecs.next += 1;
    let handle = codecs.next;
    codecs.entries.insert(handle, entry);
    natives::add_with(scope, owner, OWNER_SIZE, move |isolate| {
        Codecs::of(isolate).entries.remove(&handle);
    });
    rv.set_double(handle as f64);
    Ok(())
}

/// (handle, flush, input, offset, length, output, offset, length, state) -> undefined, or [message, code, errno].
/// state = [bytes of output left, bytes of input left, flags]
pub(super) fn op_codec_step<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let handle = id_of(args.get(0))?;
    let flush = args.get(1).uint32_value(scope).unwrap_or(0);
    let [from, from_length, to, to_length] =
        [3, 4, 6, 7].map(|at| args.get(at).integer_value(scope).and_then(|number| usize::try_from(number).ok()));
    let (Some(from), Some(from_length), Some(to), Some(to_length)) = (from, from_length, to, to_length) else {
        return Err(OpError::type_error("internal: an offset was expected"));
    };
    let mut entry =
        Codecs::of(scope).entries.remove(&handle).ok_or_else(|| OpError::type_error("the codec is closed"))?;
    // The input is copied: it may lie in the same buffer as the output.
    let input = with_bytes(args.get(2), |bytes| {
        let whole = part(bytes, from, from_length);
        (whole[..whole.len().min(hearth_compression::MAX_STEP)].to_vec(), whole.len())
    });
    let (input, whole) = input?;
    if let Err(error) = entry.codec.expect_input(whole as u64, flush) {
        return error_value(scope, &error, rv);
    }
    let flush = if whole > input.len() { 0 } else { flush };
    let expected = entry.codec.expected_memory(&input);
    set_charge(scope, &mut entry.charge, expected)?;
    let result = with_bytes(args.get(5), |output| {
        let output = part(output, to, to_length);
        let (more_input, room) = (whole - input.len(), output.len());
        let step = entry.codec.step(&input, output, flush).map(|mut step| {
            step.more |= more_input > 0 && !step.ended && step.written < room;
            step
        });
        (step, room)
    });
    let memory = entry.codec.memory();
    // After an error, or with a full account, the codec stays closed.
    let (step, room) = match result? {
        (Ok(step), room) => (step, room),
        (Err(error), ..) => return error_value(scope, &error, rv),
    };
    set_charge(scope, &mut entry.charge, memory)?;
    Codecs::of(scope).entries.insert(handle, entry);
    let CodecStep { read, written, ended, more } = step;
    let flags = if more { FLAG_MORE } else { 0 } | if ended { FLAG_ENDED } else { 0 };
    let state = [(room - written) as u32, (whole - read) as u32, flags];
    with_bytes(args.get(8), |into| {
        for (into, value) in into.chunks_exact_mut(4).zip(state) {
            into.copy_from_slice(&value.to_ne_bytes());
        }
    })
}

pub(super) fn op_codec_reset<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let handle = id_of(args.get(0))?;
    let Some(entry) = Codecs::of(scope).entries.get_mut(&handle) else {
        return Err(OpError::type_error("the codec is closed"));
    };
    match entry.codec.reset() {
        Ok(()) => Ok(()),
        Err(error) => error_value(scope, &error, rv),
    }
}

/// (handle, level): of a deflater
pub(super) fn op_codec_level<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let handle = id_of(args.get(0))?;
    let level = args.get(1).int32_value(scope).unwrap_or(-1);
    let Some(entry) = Codecs::of(scope).entries.get_mut(&handle) else {
        return Err(OpError::type_error("the codec is closed"));
    };
    match entry.codec.set_level(level) {
        Ok(()) => Ok(()),
        Err(error) => error_value(scope, &error, rv),
    }
}

pub(super) fn op_codec_free<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let handle = id_of(args.get(0))?;
    Codecs::of(scope).entries.remove(&handle);
    Ok(())
}

/// (bytes, value) -> the CRC-32 of gzip
pub(super) fn op_crc32<'s>(scope: Scope<'_, 's, '_>, args: &Arguments<'s>, rv: &mut Return<'s>) -> Result<(), OpError> {
    let value = args.get(1).uint32_value(scope).unwrap_or(0);
    rv.set_uint32(with_bytes(args.get(0), |bytes| crc32(value, bytes))?);
    Ok(())
}

fn part(bytes: &mut [u8], offset: usize, length: usize) -> &mut [u8] {
    let offset = offset.min(bytes.len());
    let end = offset.saturating_add(length).min(bytes.len());
    &mut bytes[offset..end]
}

/// Of a Float64Array.
fn numbers_of(_scope: Scope<'_, '_, '_>, value: v8::Local<v8::Value>) -> Result<Vec<f64>, OpError> {
    with_bytes(value, |bytes| {
        let (numbers, _) = bytes.as_chunks::<8>();
        numbers.iter().take(64).map(|number| f64::from_ne_bytes(*number)).collect()
    })
}

/// For zlib: level, window bits, memory level, strategy, and what may follow a gzip member: 0 members, 1 only
/// what begins like one, 2 nothing. For brotli: name, value, name... For zstd the
/// size of the source, or -1, comes before these.
fn config(kind: &str, numbers: &[f64], dictionary: Vec<u8>) -> Result<Config, OpError> {
    let pairs = |numbers: &[f64]| numbers.chunks_exact(2).map(|pair| (pair[0] as u32, pair[1] as i64 as u32)).collect();
    let mode = match kind {
        "deflate" => ZlibMode::Deflate,
        "inflate" => ZlibMode::Inflate,
        "gzip" => ZlibMode::Gzip,
        "gunzip" => ZlibMode::Gunzip,
        "deflate-raw" => ZlibMode::DeflateRaw,
        "inflate-raw" => ZlibMode::InflateRaw,
        "unzip" => ZlibMode::Unzip,
        "brotli" => return Ok(Config::BrotliEncoder { params: pairs(numbers) }),
        "unbrotli" => return Ok(Config::BrotliDecoder { params: pairs(numbers) }),
        "zstd" => {
            let source_size = numbers.first().filter(|size| **size >= 0.0).map(|size| *size as u64);
            let params = pairs(numbers.get(1..).unwrap_or_default());
            return Ok(Config::ZstdEncoder { params, source_size, dictionary });
        }
        "unzstd" => return Ok(Config::ZstdDecoder { params: pairs(numbers.get(1..).unwrap_or_default()), dictionary }),
        _ => return Err(OpError::type_error("internal: a kind of codec was expected")),
    };
    let [level, window_bits, mem_level, strategy, after_member] = *numbers else {
        return Ok(Config::Zlib(ZlibConfig { dictionary, ..ZlibConfig::new(mode) }));
    };
    Ok(Config::Zlib(ZlibConfig {
        mode,
        level: level as i32,
        window_bits: window_bits as i32,
        mem_level: mem_level as i32,
        strategy: strategy as i32,
        dictionary,
        after_member: match after_member as u32 {
            0 => AfterMember::Members,
            1 => AfterMember::OnlyMembers,
            _ => AfterMember::Nothing,
        },
    }))
}

fn error_value<'s>(scope: Scope<'_, 's, '_>, error: &CodecError, rv: &mut Return<'s>) -> Result<(), OpError> {
    let message = text_value(scope, &error.message)?.into();
    let code = text_value(scope, &error.code)?.into();
    let errno = v8::Integer::new(scope, error.errno).into();
    let list = v8::Array::new_with_elements(scope, &[message, code, errno]);
    rv.set(list.into());
    Ok(())
}
