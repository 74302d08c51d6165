//! A frame's header (RFC 6455, 5.2).
//!
//! ```text
//! | FIN RSV1-3 opcode | MASK length | 16 or 64 bits of length | key, where masked | payload ...
//! |      1 byte       |    1 byte   |       0, 2 or 8 bytes   |   0 or 4 bytes    |
//! ```

use crate::Role;
use crate::deflate::Deflate;
use crate::protocol_error::ProtocolError;

/// The first reserved bit.
const DEFLATED: u8 = 0x40;
/// The longest payload of a control frame.
pub(crate) const MOST_CONTROL: usize = 125;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

/// Whether a frame is the last of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    More,
    Last,
}

/// The coding of a message, which its first frame gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Plain,
    Deflated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) position: Position,
    pub(crate) opcode: Opcode,
    pub(crate) coding: Coding,
    pub(crate) key: Option<[u8; 4]>,
    pub(crate) length: u64,
    /// Bytes that the header takes.
    pub(crate) size: usize,
}

// === impl Opcode ===

impl Opcode {
    fn parse(bits: u8) -> Option<Self> {
        Some(match bits {
            0x0 => Self::Continuation,
            0x1 => Self::Text,
            0x2 => Self::Binary,
            0x8 => Self::Close,
            0x9 => Self::Ping,
            0xa => Self::Pong,
            _ => return None,
        })
    }

    fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0x0,
            Self::Text => 0x1,
            Self::Binary => 0x2,
            Self::Close => 0x8,
            Self::Ping => 0x9,
            Self::Pong => 0xa,
        }
    }

    pub(crate) fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

// === impl Header ===

impl Header {
    /// The header at the start of `bytes`, as `role` may receive it; `None` while it is incomplete.
    pub(crate) fn parse(bytes: &[u8], role: Role, deflate: Deflate) -> Result<Option<Self>, ProtocolError> {
        let [first, second, rest @ ..] = bytes else {
            // An incomplete header can be checked, too.
            return bytes.first().map_or(Ok(None), |first| check(*first, deflate).map(|_| None));
        };
        let (opcode, coding) = check(*first, deflate)?;
        let position = if first & 0x80 != 0 { Position::Last } else { Position::More };
        let masked = second & 0x80 != 0;
        match (role, masked) {
            (Role::Server, false) => return Err(ProtocolError::Unmasked),
            (Role::Client, true) => return Err(ProtocolError::Masked),
            _ => {}
        }
        if opcode.is_control() {
            if position == Position::More {
                return Err(ProtocolError::FragmentedControl);
            }
            if usize::from(second & 0x7f) > MOST_CONTROL {
                return Err(ProtocolError::LongControl);
            }
        }
        let (length, rest) = match (second & 0x7f, rest) {
            (126, [a, b, rest @ ..]) => match u16::from_be_bytes([*a, *b]) {
                0..126 => return Err(ProtocolError::Length),
                length => (u64::from(length), rest),
            },
            (127, [a, b, c, d, e, f, g, h, rest @ ..]) => match u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]) {
                0x1_0000..0x8000_0000_0000_0000 => (u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]), rest),
                _ => return Err(ProtocolError::Length),
            },
            (126 | 127, _) => return Ok(None),
            (length, rest) => (u64::from(length), rest),
        };
        let (key, rest) = match (masked, rest) {
            (false, rest) => (None, rest),
            (true, [a, b, c, d, rest @ ..]) => (Some([*a, *b, *c, *d]), rest),
            (true, _) => return Ok(None),
        };
        Ok(Some(Self { position, opcode, coding, key, length, size: bytes.len() - rest.len() }))
    }

    /// Writes the header; `size` is ignored.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let last = if self.position == Position::Last { 0x80 } else { 0 };
        let masked = if self.key.is_some() { 0x80 } else { 0 };
        let deflated = if self.coding == Coding::Deflated { DEFLATED } else { 0 };
        out.push(last | deflated | self.opcode.bits());
        match self.length {
            length @ 0..126 => out.push(masked | length as u8),
            length @ 126..0x1_0000 => {
                out.push(masked | 126);
                out.extend_from_slice(&(length as u16).to_be_bytes());
            }
            length => {
                out.push(masked | 127);
                out.extend_from_slice(&length.to_be_bytes());
            }
        }
        if let Some(key) = self.key {
            out.extend_from_slice(&key);
        }
    }
}

/// Checks the first byte. Only the first frame of a message may be marked as compressed, and only where that was negotiated.
fn check(first: u8, deflate: Deflate) -> Result<(Opcode, Coding), ProtocolError> {
    let coding = match (first & 0x70, deflate) {
        (0, _) => Coding::Plain,
        (DEFLATED, Deflate::On) => Coding::Deflated,
        _ => return Err(ProtocolError::ReservedBit),
    };
    let opcode = Opcode::parse(first & 0x0f).ok_or(ProtocolError::Opcode)?;
    match (coding, opcode) {
        (Coding::Plain, _) | (_, Opcode::Text | Opcode::Binary) => Ok((opcode, coding)),
        (Coding::Deflated, _) => Err(ProtocolError::ReservedBit),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn headers_round_trip_and_prefixes_are_incomplete() {
        for length in [0, 1, 125, 126, 127, 0xffff, 0x1_0000, 0x7fff_ffff_ffff_ffff] {
            for (role, key) in [(Role::Server, Some([1, 2, 3, 4])), (Role::Client, None)] {
                let mut bytes = Vec::new();
                let (position, opcode, coding) = (Position::More, Opcode::Binary, Coding::Deflated);
                let mut header = Header { position, opcode, coding, key, length, size: 0 };
                header.write(&mut bytes);
                assert!(bytes.len() <= 14);
                header.size = bytes.len();
                for cut in 0..bytes.len() {
                    assert_eq!(Header::parse(&bytes[..cut], role, Deflate::On), Ok(None), "{length} cut at {cut}");
                }
                bytes.extend_from_slice(b"payload");
                assert_eq!(Header::parse(&bytes, role, Deflate::On).unwrap(), Some(header));
            }
        }
    }

    #[test]
    fn invalid_headers_are_errors() {
        let of = |bytes: &[u8]| Header::parse(bytes, Role::Server, Deflate::Off).unwrap_err();
        let agreed = |bytes: &[u8]| Header::parse(bytes, Role::Server, Deflate::On).unwrap_err();
        for bad in [b"\xc0", b"\xc9", b"\xa1", b"\xe1"] {
            assert_eq!(agreed(bad), ProtocolError::ReservedBit, "{bad:x?}");
        }
        assert_eq!(of(b"\xc1"), ProtocolError::ReservedBit);
        assert_eq!(of(b"\x83"), ProtocolError::Opcode);
        assert_eq!(of(b"\x8b\x80"), ProtocolError::Opcode);
        assert_eq!(of(b"\x81\x05"), ProtocolError::Unmasked);
        assert_eq!(of(b"\x09\x80"), ProtocolError::FragmentedControl);
        assert_eq!(of(b"\x89\xfe\x00\x7e"), ProtocolError::LongControl);
        assert_eq!(of(b"\x81\xfe\x00\x7d"), ProtocolError::Length);
        assert_eq!(of(b"\x81\xff\x00\x00\x00\x00\x00\x00\xff\xff"), ProtocolError::Length);
        assert_eq!(of(b"\x81\xff\x80\x00\x00\x00\x00\x00\x00\x00"), ProtocolError::Length);
        assert_eq!(Header::parse(b"\x81\x85", Role::Client, Deflate::Off), Err(ProtocolError::Masked));
    }
}
