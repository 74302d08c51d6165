//! A chunked body, decoded in pieces of all sizes, under limits, and by a second reader that is as plain as can be.
//!
//! - However the body arrives, the data, the end and the error are the same.
//! - A body that is accepted is chunks and trailers by the letter, and its data is what a plain reader finds.
//! - No more data comes than the limit allows; the exact limit is enough, and one byte less is not.
//! - An end stays the end.

use hearth_gateway::parse::{ChunkError, ChunkEvent, ChunkedDecoder};

#[derive(Debug, PartialEq)]
struct Decoded {
    data: Vec<u8>,
    /// Bytes of the input, up to the end or the error.
    used: usize,
    end: End,
}

#[derive(Debug, PartialEq)]
enum End {
    Complete,
    /// There must be more to come.
    Open,
    Failed(ChunkError),
}

pub fn check(data: &[u8]) {
    for limit in [u64::MAX, 40, 0] {
        let whole = decode(std::iter::once(data), limit);
        assert!(whole.data.len() as u64 <= limit, "more data than allowed");
        assert_eq!(whole, decode(data.chunks(1), limit), "byte by byte");
        for seed in 1..4 {
            assert_eq!(whole, decode(pieces(data, seed).into_iter(), limit), "in pieces, {seed}");
        }
    }
    let free = decode(std::iter::once(data), u64::MAX);
    assert!(free.used <= data.len() && (free.end != End::Open || free.used == data.len()));
    if free.end == End::Complete {
        complete(&data[..free.used], &free);
    }
}

/// What holds for a body that was accepted.
fn complete(bytes: &[u8], free: &Decoded) {
    assert_eq!(plain(bytes), free.data);
    let length = free.data.len() as u64;
    assert_eq!(decode(std::iter::once(bytes), length), *free, "the exact limit");
    if let Some(less) = length.checked_sub(1) {
        let cut = decode(std::iter::once(bytes), less);
        assert_eq!(cut.end, End::Failed(ChunkError::TooLarge));
        assert!(free.data.starts_with(&cut.data) && cut.data.len() < free.data.len());
        let again = [format!("{length:X}\r\n").as_bytes(), &free.data, b"\r\n0\r\n\r\n"].concat();
        let expected = Decoded { data: free.data.clone(), used: again.len(), end: End::Complete };
        assert_eq!(decode(pieces(&again, 5).into_iter(), length), expected, "as one chunk");
    }
    for (at, _) in bytes.iter().enumerate().step_by(bytes.len() / 32 + 1) {
        let part = decode(std::iter::once(&bytes[..at]), u64::MAX);
        assert!(part.end == End::Open && free.data.starts_with(&part.data), "a part of a body: {part:?}");
    }
}

fn decode<'a>(pieces: impl Iterator<Item = &'a [u8]>, limit: u64) -> Decoded {
    let (mut decoder, mut data, mut used) = (ChunkedDecoder::new(limit), Vec::new(), 0);
    for piece in pieces {
        let mut at = 0;
        loop {
            let before = at;
            match decoder.next(piece, &mut at) {
                Ok(ChunkEvent::Data(range)) => {
                    assert!(before <= range.start && range.start < range.end && range.end == at);
                    data.extend_from_slice(&piece[range]);
                }
                Ok(ChunkEvent::More) => {
                    assert_eq!(at, piece.len(), "wants more, and has not taken all");
                    break;
                }
                Ok(ChunkEvent::End) => {
                    used += at;
                    assert_eq!(decoder.next(b"5\r\n", &mut 0), Ok(ChunkEvent::End));
                    assert_eq!(decoder.next(b"", &mut 0), Ok(ChunkEvent::End));
                    return Decoded { data, used, end: End::Complete };
                }
                Err(error) => return Decoded { data, used: used + at, end: End::Failed(error) },
            }
        }
        used += piece.len();
    }
    Decoded { data, used, end: End::Open }
}

/// Cut in places that only `seed` and the length decide; some pieces are empty.
fn pieces(mut data: &[u8], seed: u64) -> Vec<&[u8]> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ data.len() as u64;
    let mut pieces = Vec::new();
    while !data.is_empty() {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let (piece, rest) = data.split_at(((state >> 33) % 9).min(data.len() as u64) as usize);
        pieces.push(piece);
        data = rest;
    }
    pieces
}

/// The data of a body that is known to be complete.
fn plain(mut rest: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    loop {
        let line = take_line(&mut rest);
        let size = line.split(|b| *b == b';').next().unwrap_or_default();
        assert!((1..=16).contains(&size.len()) && size.iter().all(u8::is_ascii_hexdigit), "no size: {line:?}");
        let size = std::str::from_utf8(size).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size.expect("sixteen hex digits are a size");
        if size == 0 {
            break;
        }
        data.extend_from_slice(&rest[..size]);
        rest = rest[size..].strip_prefix(b"\r\n").expect("a chunk ends with CR LF");
    }
    loop {
        let line = take_line(&mut rest);
        if line.is_empty() {
            break;
        }
        assert!(line.iter().position(|b| *b == b':').is_some_and(|at| at > 0), "no trailer: {line:?}");
    }
    assert!(rest.is_empty(), "took more than the body");
    data
}

fn take_line<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let end = rest.windows(2).position(|pair| pair == b"\r\n").expect("a line ends with CR LF");
    let line = &rest[..end];
    assert!(!line.contains(&b'\n') && !line.contains(&b'\r'));
    *rest = &rest[end + 2..];
    line
}
