//! The gzip format (RFC 1952) around raw deflate data, fed in pieces of any size. A file may have several members one after
//! the other; their contents follow each other. Data after the last member is ignored, as in browsers.
//! States: `Head -> Data -> Trailer -> Head ... -> Over`.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::decode::{Corrupt, Progress};

pub(crate) struct Gzip {
    state: State,
    inflate: Decompress,
    checksum: Crc,
    members: u64,
    /// Members without content since the last one that had some.
    empty_members: u32,
}

enum State {
    /// The fixed part of a member's head: how much of it was read, and its flags.
    Head {
        at: u8,
        flags: u8,
    },
    /// The parts that the flags announce, in this order.
    ExtraLength {
        at: u8,
        flags: u8,
        length: u16,
    },
    Extra {
        left: u16,
        flags: u8,
    },
    Text {
        flags: u8,
    },
    HeadChecksum {
        at: u8,
    },
    Data,
    Trailer {
        at: u8,
        bytes: [u8; 8],
    },
    Over,
}

/// A member takes 20 bytes, and far more time to decode than 20 bytes of content: a body of nothing else is no file that
/// a program writes, but a way to keep a thread busy.
const MAX_EMPTY_MEMBERS: u32 = 1024;

const HEAD_CHECKSUM: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;

impl Gzip {
    pub(crate) fn new() -> Self {
        let state = State::Head { at: 0, flags: 0 };
        Self { state, inflate: Decompress::new(false), checksum: Crc::new(), members: 0, empty_members: 0 }
    }

    /// Whether the input may end here.
    pub(crate) fn may_end(&self) -> bool {
        matches!(self.state, State::Head { at: 0, .. } | State::Over)
    }

    pub(crate) fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Progress, Corrupt> {
        let mut read = 0;
        loop {
            if let State::Data = self.state {
                let mut progress = inflate(&mut self.inflate, &input[read..], output)?;
                self.checksum.update(&output[..progress.written]);
                progress.read += read;
                if progress.ended {
                    self.state = State::Trailer { at: 0, bytes: [0; 8] };
                }
                return Ok(Progress { ended: false, ..progress });
            }
            if let State::Over = self.state {
                return Ok(Progress { read: input.len(), written: 0, ended: true });
            }
            let Some(byte) = input.get(read) else { return Ok(Progress { read, written: 0, ended: false }) };
            read += 1;
            self.byte(*byte)?;
        }
    }

    /// One byte of what is not data.
    fn byte(&mut self, byte: u8) -> Result<(), Corrupt> {
        self.state = match self.state {
            State::Head { at: 0, .. } if byte != 0x1f && self.members > 0 => State::Over,
            State::Head { at, flags } => {
                let (fits, flags) = match at {
                    0 => (byte == 0x1f, 0),
                    1 => (byte == 0x8b, 0),
                    2 => (byte == 8, 0),
                    3 => (byte & 0xe0 == 0, byte),
                    _ => (true, flags),
                };
                match at {
                    _ if !fits => return Err(Corrupt("it has no gzip header")),
                    9 => after_head(flags),
                    _ => State::Head { at: at + 1, flags },
                }
            }
            State::ExtraLength { at: 0, flags, .. } => State::ExtraLength { at: 1, flags, length: byte.into() },
            State::ExtraLength { flags, length, .. } => match length | u16::from(byte) << 8 {
                0 => after_head(flags),
                left => State::Extra { left, flags },
            },
            State::Extra { left: 1, flags } => after_head(flags),
            State::Extra { left, flags } => State::Extra { left: left - 1, flags },
            State::Text { flags } if byte == 0 => after_head(flags),
            State::Text { flags } => State::Text { flags },
            State::HeadChecksum { at: 0 } => State::HeadChecksum { at: 1 },
            State::HeadChecksum { .. } => State::Data,
            State::Trailer { at, mut bytes } => {
                bytes[usize::from(at)] = byte;
                if at < 7 { State::Trailer { at: at + 1, bytes } } else { self.end_member(bytes)? }
            }
            State::Data | State::Over => unreachable!("step handles these"),
        };
        Ok(())
    }

    fn end_member(&mut self, [a, b, c, d, e, f, g, h]: [u8; 8]) -> Result<State, Corrupt> {
        if u32::from_le_bytes([a, b, c, d]) != self.checksum.sum() {
            return Err(Corrupt("its checksum is wrong"));
        }
        if u32::from_le_bytes([e, f, g, h]) != self.checksum.amount() {
            return Err(Corrupt("its length is wrong"));
        }
        self.members += 1;
        self.empty_members = if self.checksum.amount() == 0 { self.empty_members + 1 } else { 0 };
        if self.empty_members > MAX_EMPTY_MEMBERS {
            return Err(Corrupt("too many of its gzip members are empty"));
        }
        self.inflate.reset(false);
        self.checksum.reset();
        Ok(State::Head { at: 0, flags: 0 })
    }
}

/// The next of the optional parts; each clears its flag.
fn after_head(flags: u8) -> State {
    if flags & EXTRA != 0 {
        State::ExtraLength { at: 0, flags: flags & !EXTRA, length: 0 }
    } else if flags & NAME != 0 {
        State::Text { flags: flags & !NAME }
    } else if flags & COMMENT != 0 {
        State::Text { flags: flags & !COMMENT }
    } else if flags & HEAD_CHECKSUM != 0 {
        State::HeadChecksum { at: 0 }
    } else {
        State::Data
    }
}

/// One step of deflate data, raw or in zlib's wrapping.
pub(crate) fn inflate(inflate: &mut Decompress, input: &[u8], output: &mut [u8]) -> Result<Progress, Corrupt> {
    let (read, written) = (inflate.total_in(), inflate.total_out());
    let status = inflate.decompress(input, output, FlushDecompress::None);
    let status = status.map_err(|_| Corrupt("its deflate data is damaged"))?;
    Ok(Progress {
        // Both are at most the lengths of the slices.
        read: (inflate.total_in() - read) as usize,
        written: (inflate.total_out() - written) as usize,
        ended: status == Status::StreamEnd,
    })
}
