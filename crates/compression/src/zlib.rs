//! gzip, zlib and raw deflate, by zlib-rs.
//!
//! Deviation from Node: `params` changes the level alone, since zlib-rs has no call for the strategy, and refuses a level of
//! another algorithm in the middle of a stream.

use zlib_rs::{
    Deflate, DeflateConfig, DeflateError, DeflateFlush, Inflate, InflateError, InflateFlush, Method, Status, Strategy,
};

use crate::codec::CodecStep;
use crate::error::CodecError;

const FINISH: u32 = 4;
/// Added to the window bits: the format is gzip.
const GZIP_BITS: i32 = 16;
/// Added to the window bits: the header says whether the format is gzip or zlib.
const DETECT_BITS: u8 = 32;
const MAX_WINDOW_BITS: i32 = 15;
/// The first byte of gzip's header.
const GZIP_MAGIC: u8 = 0x1f;
/// What an inflater holds.
const INFLATER_SIZE: u64 = 64 * 1024;
/// What a deflater holds beside its window and its pending output: hash tables.
const DEFLATER_TABLES: u64 = 160 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZlibMode {
    Deflate,
    Inflate,
    Gzip,
    Gunzip,
    DeflateRaw,
    InflateRaw,
    Unzip,
}

#[derive(Clone, Debug)]
pub struct ZlibConfig {
    pub mode: ZlibMode,
    /// -1 to 9.
    pub level: i32,
    /// 8 to 15; when inflating also 0: what the header says.
    pub window_bits: i32,
    /// 1 to 9.
    pub mem_level: i32,
    /// 0 to 4.
    pub strategy: i32,
    /// Empty: none. All of it is kept, although a window reaches but 32 kB back: its checksum names it in the stream.
    pub dictionary: Vec<u8>,
    pub after_member: AfterMember,
}

/// What may follow a member of a gzip file. What may not is left unread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterMember {
    /// Anything but zeros has to be a member.
    Members,
    /// What begins like a member.
    OnlyMembers,
    Nothing,
}

pub(crate) struct Deflater {
    inner: Deflate,
    config: ZlibConfig,
}

pub(crate) struct Inflater {
    inner: Inflate,
    config: ZlibConfig,
    /// Of `Unzip`: whether the first byte was gzip's. None before it.
    is_gzip: Option<bool>,
    ended: bool,
}

impl ZlibConfig {
    /// With the defaults that all have: the web's streams use these.
    pub fn new(mode: ZlibMode) -> Self {
        Self {
            mode,
            level: -1,
            window_bits: MAX_WINDOW_BITS,
            mem_level: 8,
            strategy: 0,
            dictionary: Vec::new(),
            after_member: AfterMember::Members,
        }
    }
}

// === impl Deflater ===

impl Deflater {
    pub fn new(config: ZlibConfig) -> Result<Self, CodecError> {
        let window_bits = config.window_bits.max(9);
        let strategy = Strategy::try_from(config.strategy).map_err(|()| CodecError::initialization())?;
        let in_range = (-1..=9).contains(&config.level)
            && (9..=MAX_WINDOW_BITS).contains(&window_bits)
            && (1..=9).contains(&config.mem_level);
        if !in_range {
            return Err(CodecError::initialization());
        }
        let window_bits = match config.mode {
            ZlibMode::Gzip => window_bits + GZIP_BITS,
            ZlibMode::DeflateRaw => -window_bits,
            _ => window_bits,
        };
        let inner = Deflate::new_with_config(DeflateConfig {
            level: config.level,
            method: Method::Deflated,
            window_bits,
            mem_level: config.mem_level,
            strategy,
        });
        let mut deflater = Self { inner, config };
        deflater.set_dictionary()?;
        Ok(deflater)
    }

    /// gzip has no dictionaries: it is ignored there, as in Node.
    fn set_dictionary(&mut self) -> Result<(), CodecError> {
        if self.config.dictionary.is_empty() || self.config.mode == ZlibMode::Gzip {
            return Ok(());
        }
        let set = self.inner.set_dictionary(&self.config.dictionary);
        set.map(drop).map_err(|_| CodecError::stream("Failed to set dictionary"))
    }

    pub fn step(&mut self, input: &[u8], output: &mut [u8], flush: u32) -> Result<CodecStep, CodecError> {
        let (read, written) = (self.inner.total_in(), self.inner.total_out());
        let flush = match flush {
            0 => DeflateFlush::NoFlush,
            1 => DeflateFlush::PartialFlush,
            2 => DeflateFlush::SyncFlush,
            3 => DeflateFlush::FullFlush,
            FINISH => DeflateFlush::Finish,
            5 => DeflateFlush::Block,
            _ => return Err(CodecError::stream("Zlib error")),
        };
        let status = self.inner.compress(input, output, flush).map_err(|error| match error {
            DeflateError::MemError => CodecError::memory(),
            DeflateError::DataError => CodecError::data("Zlib error"),
            DeflateError::StreamError => CodecError::stream("Zlib error"),
        })?;
        let written = (self.inner.total_out() - written) as usize;
        let ended = status == Status::StreamEnd;
        if !ended && flush == DeflateFlush::Finish && written < output.len() {
            return Err(CodecError::unexpected_end());
        }
        Ok(CodecStep { read: (self.inner.total_in() - read) as usize, written, ended, more: false })
    }

    pub fn reset(&mut self) -> Result<(), CodecError> {
        self.inner.reset();
        self.set_dictionary()
    }

    pub fn set_level(&mut self, level: i32) -> Result<(), CodecError> {
        match self.inner.set_level(level) {
            Ok(Status::BufError) | Err(_) => Err(CodecError::stream("Failed to set parameters")),
            Ok(_) => {
                self.config.level = level;
                Ok(())
            }
        }
    }

    pub fn memory(&self) -> u64 {
        let window = 1 << (self.config.window_bits.max(9) + 2);
        window + (1 << (self.config.mem_level + 9)) + DEFLATER_TABLES + self.config.dictionary.len() as u64
    }
}

// === impl Inflater ===

impl Inflater {
    pub fn new(config: ZlibConfig) -> Result<Self, CodecError> {
        let mut inflater = Self { inner: inflate(&config)?, config, is_gzip: None, ended: false };
        inflater.set_raw_dictionary()?;
        Ok(inflater)
    }

    /// A raw stream does not say that it wants one.
    fn set_raw_dictionary(&mut self) -> Result<(), CodecError> {
        if self.config.dictionary.is_empty() || self.config.mode != ZlibMode::InflateRaw {
            return Ok(());
        }
        let set = self.inner.set_dictionary(&self.config.dictionary);
        set.map(drop).map_err(|_| CodecError::stream("Failed to set dictionary"))
    }

    pub fn step(&mut self, input: &[u8], output: &mut [u8], flush: u32) -> Result<CodecStep, CodecError> {
        if self.is_gzip.is_none()
            && let Some(first) = input.first()
        {
            self.is_gzip = Some(self.config.mode == ZlibMode::Gunzip || *first == GZIP_MAGIC);
        }
        let mut step = CodecStep::default();
        loop {
            let rest = &input[step.read..];
            if self.ended {
                if !self.is_next_member(rest) {
                    break;
                }
                self.reset()?;
            }
            let output = &mut output[step.written..];
            let (read, written) = (self.inner.total_in(), self.inner.total_out());
            let status = self.inflate(rest, output, flush)?;
            step.read += (self.inner.total_in() - read) as usize;
            let written = (self.inner.total_out() - written) as usize;
            step.written += written;
            self.ended = status == Status::StreamEnd;
            if !self.ended {
                if flush == FINISH && written < output.len() {
                    return Err(CodecError::unexpected_end());
                }
                break;
            }
        }
        step.ended = self.ended;
        Ok(step)
    }

    /// A gzip file has any number of members. Zeros after the last one are padding.
    fn is_next_member(&self, rest: &[u8]) -> bool {
        let Some(first) = rest.first() else { return false };
        let has_members = match self.config.mode {
            ZlibMode::Gunzip => true,
            ZlibMode::Unzip => self.is_gzip == Some(true),
            _ => false,
        };
        has_members
            && match self.config.after_member {
                AfterMember::Members => *first != 0,
                AfterMember::OnlyMembers => *first == GZIP_MAGIC,
                AfterMember::Nothing => false,
            }
    }

    fn inflate(&mut self, input: &[u8], output: &mut [u8], flush: u32) -> Result<Status, CodecError> {
        let flush = match flush {
            0 | 1 | 3 => InflateFlush::NoFlush,
            2 => InflateFlush::SyncFlush,
            FINISH => InflateFlush::Finish,
            5 => InflateFlush::Block,
            _ => return Err(CodecError::stream("Zlib error")),
        };
        let start = self.inner.total_in();
        match self.inner.decompress(input, output, flush) {
            Ok(status) => Ok(status),
            Err(InflateError::NeedDict { .. }) => {
                if self.config.dictionary.is_empty() {
                    return Err(CodecError::need_dictionary("Missing dictionary"));
                }
                if self.inner.set_dictionary(&self.config.dictionary).is_err() {
                    return Err(CodecError::need_dictionary("Bad dictionary"));
                }
                let used = (self.inner.total_in() - start) as usize;
                self.inner.decompress(&input[used..], output, flush).map_err(|error| self.error(error))
            }
            Err(error) => Err(self.error(error)),
        }
    }

    fn error(&self, error: InflateError) -> CodecError {
        let message = self.inner.error_message().unwrap_or("Zlib error");
        match error {
            InflateError::NeedDict { .. } => CodecError::need_dictionary("Missing dictionary"),
            InflateError::StreamError => CodecError::stream(message),
            InflateError::DataError => CodecError::data(message),
            InflateError::MemError => CodecError::memory(),
        }
    }

    pub fn reset(&mut self) -> Result<(), CodecError> {
        self.inner = inflate(&self.config)?;
        self.ended = false;
        self.set_raw_dictionary()
    }

    pub fn memory(&self) -> u64 {
        INFLATER_SIZE + self.config.dictionary.len() as u64
    }
}

fn inflate(config: &ZlibConfig) -> Result<Inflate, CodecError> {
    let bits = config.window_bits;
    let has_header = config.mode != ZlibMode::InflateRaw;
    let is_valid = (8..=MAX_WINDOW_BITS).contains(&bits) || (bits == 0 && has_header);
    if !is_valid {
        return Err(CodecError::initialization());
    }
    let bits = bits as u8;
    Ok(match config.mode {
        ZlibMode::Gunzip => Inflate::new(true, if bits == 0 { 15 } else { bits } + GZIP_BITS as u8),
        ZlibMode::Unzip => Inflate::new(true, if bits == 0 { 15 } else { bits } + DETECT_BITS),
        ZlibMode::InflateRaw => Inflate::new(false, bits),
        _ => Inflate::new(true, bits),
    })
}
