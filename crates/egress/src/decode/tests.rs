#![allow(clippy::unwrap_used)]

use std::collections::VecDeque;
use std::io::Write;
use std::task::Waker;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use super::*;

/// `"hello, brotli! "` twenty times.
const BROTLI: &str = "1b2b01f89d09364ea87737bc041143eb1016363a5526976c696fb16008d075597d01";
/// 64 MiB of zeros with a window of 16 MiB.
const BROTLI_BOMB: &str =
    "cfffff7ff82700e2b14020f7fe9ffffffff04f00c4610180eefd3fffffffe19f0088c32200ddfbfffcffffc73f0110870500baf7ff";

struct Pieces(VecDeque<Bytes>);

impl ByteStream for Pieces {
    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn stream(encoded: &[u8], size: usize) -> Body {
    Body::Stream(Box::new(Pieces(encoded.chunks(size).map(Bytes::copy_from_slice).collect())))
}

/// Everything that comes out, with the size of the largest piece.
fn read(mut body: Body) -> Result<(Vec<u8>, usize), BodyError> {
    let (mut all, mut largest) = (Vec::new(), 0);
    loop {
        match body.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => {}
            Poll::Ready(None) => return Ok((all, largest)),
            Poll::Ready(Some(piece)) => {
                let piece = piece?;
                assert!(!piece.is_empty());
                largest = largest.max(piece.len());
                all.extend_from_slice(&piece);
            }
        }
    }
}

fn text() -> Vec<u8> {
    (0..200_000u32).flat_map(|n| (n.wrapping_mul(2_654_435_761) >> 27).to_le_bytes()).collect()
}

#[test]
fn every_coding_decodes_in_pieces_of_any_size() {
    let text = text();
    let brotli_text = "hello, brotli! ".repeat(20).into_bytes();
    for (coding, encoded, expected) in [
        (Coding::Gzip, gzip(&text), &text),
        (Coding::Deflate, zlib(&text), &text),
        (Coding::Deflate, deflate(&text), &text),
        (Coding::Brotli, hex(BROTLI), &brotli_text),
    ] {
        for size in [1, 2, 7, 1000, usize::MAX] {
            let (decoded, largest) = read(decode(stream(&encoded, size), &[coding])).unwrap();
            assert!(decoded == *expected, "{coding:?} in pieces of {size}");
            assert!(largest <= MAX_PIECE);
        }
    }
}

#[test]
fn nothing_is_empty_in_every_coding() {
    for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli] {
        assert_eq!(read(decode(Body::Empty, &[coding])).unwrap().0, b"");
    }
    for (coding, encoded) in [
        (Coding::Gzip, gzip(b"")),
        (Coding::Deflate, zlib(b"")),
        (Coding::Deflate, deflate(b"")),
        (Coding::Brotli, hex("3b")),
    ] {
        assert_eq!(read(decode(stream(&encoded, 1), &[coding])).unwrap().0, b"", "{coding:?}");
    }
}

#[test]
fn a_cut_off_body_is_truncated_wherever_it_was_cut() {
    for (coding, encoded) in [
        (Coding::Gzip, gzip(b"hello hello hello")),
        (Coding::Deflate, zlib(b"hello hello hello")),
        (Coding::Deflate, deflate(b"hello hello hello")),
        (Coding::Brotli, hex(BROTLI)),
    ] {
        // A zlib stream without the last bytes of its checksum is let through by none either.
        for length in 1..encoded.len() {
            let cut = read(decode(stream(&encoded[..length], 5), &[coding]));
            assert_eq!(cut, Err(BodyError::Truncated), "{coding:?} cut at {length} of {}", encoded.len());
        }
    }
}

#[test]
fn damage_is_found() {
    for (coding, mut encoded) in
        [(Coding::Gzip, gzip(b"hello hello hello")), (Coding::Deflate, zlib(b"hello hello hello"))]
    {
        let last = encoded.len() - 1;
        encoded[last] ^= 1;
        let error = read(decode(stream(&encoded, 3), &[coding])).unwrap_err();
        assert!(matches!(&error, BodyError::Failed(text) if text.contains(coding.name())), "{coding:?}: {error}");
    }
    for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli] {
        let error = read(decode(stream(b"<html>this is not compressed</html>", 4), &[coding])).unwrap_err();
        assert!(matches!(error, BodyError::Failed(_)), "{coding:?}: {error}");
    }
}

#[test]
fn gzip_heads_may_have_all_parts_and_members_may_follow_each_other() {
    let plain = gzip(b"one ");
    let mut full = plain[..10].to_vec();
    full[3] = HEAD_FLAGS;
    full.extend_from_slice(b"\x03\0abcname\0comment\0\x12\x34");
    full.extend_from_slice(&plain[10..]);
    let mut two = full.clone();
    two.extend_from_slice(&gzip(b"two"));
    let mut padded = two.clone();
    padded.extend_from_slice(&[0; 100]);
    for size in [1, 3, 1000] {
        assert_eq!(read(decode(stream(&full, size), &[Coding::Gzip])).unwrap().0, b"one ");
        assert_eq!(read(decode(stream(&two, size), &[Coding::Gzip])).unwrap().0, b"one two");
        assert_eq!(read(decode(stream(&padded, size), &[Coding::Gzip])).unwrap().0, b"one two");
    }
}

/// Extra, name, comment and checksum.
const HEAD_FLAGS: u8 = 0b1_1110;

#[test]
fn a_bomb_comes_out_in_small_pieces() {
    let zeros = vec![0; 64 << 20];
    for (coding, encoded) in [(Coding::Gzip, gzip(&zeros)), (Coding::Brotli, hex(BROTLI_BOMB))] {
        let (decoded, largest) = read(decode(stream(&encoded, usize::MAX), &[coding])).unwrap();
        assert!(decoded.len() == zeros.len() && largest == MAX_PIECE, "{coding:?}");
    }
    // A bomb in a bomb.
    let twice = gzip(&gzip(&zeros));
    let mut body = decode(stream(&twice, usize::MAX), &[Coding::Gzip, Coding::Gzip]);
    let first = body.poll_next(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(first, Poll::Ready(Some(Ok(piece))) if piece.len() <= MAX_PIECE));
}

/// Members without content cost more to decode than content of the same size does.
#[test]
fn a_body_of_empty_members_is_refused() {
    let members = |count: usize| gzip(b"").repeat(count);
    let few = [members(1000), gzip(b"one"), members(1000), gzip(b"two")].concat();
    assert_eq!(read(decode(stream(&few, 777), &[Coding::Gzip])).unwrap().0, b"onetwo");
    let error = read(decode(stream(&members(2000), 777), &[Coding::Gzip])).unwrap_err();
    assert!(error.to_string().contains("empty"), "{error}");
}

/// A server that sends members without content for ever does not keep the thread.
#[test]
fn endless_nothing_lets_others_run() {
    let empty = gzip(b"");
    let pieces = std::iter::repeat_n(Bytes::from(empty), 10 * MAX_EMPTY_STEPS).collect();
    let mut body = decode(Body::Stream(Box::new(Pieces(pieces))), &[Coding::Gzip]);
    assert!(body.poll_next(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(read(body).unwrap().0, b"");
}

#[test]
fn random_bytes_never_panic() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let valid = [gzip(b"hello hello hello"), zlib(b"hello hello hello"), hex(BROTLI)];
    for round in 0..5_000 {
        let mut bytes = valid[round % 3].clone();
        for _ in 0..next() % 4 {
            let at = next() as usize % bytes.len();
            bytes[at] = next() as u8;
        }
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli] {
            let mut body = decode(stream(&bytes, 1 + next() as usize % 8), &[coding]);
            let mut total = 0;
            while let Poll::Ready(Some(Ok(piece))) = body.poll_next(&mut Context::from_waker(Waker::noop())) {
                total += piece.len();
                if total > 1 << 20 {
                    break;
                }
            }
        }
    }
}

#[test]
fn codings_are_read_in_order_and_unknown_ones_leave_the_body_alone() {
    let read = |values: &[&str]| codings(values.iter().map(|value| value.as_bytes()));
    assert_eq!(read(&[]), Some(vec![]));
    assert_eq!(read(&["identity", ""]), Some(vec![]));
    assert_eq!(read(&["GZIP"]), Some(vec![Coding::Gzip]));
    assert_eq!(read(&["deflate, x-gzip", "br"]), Some(vec![Coding::Deflate, Coding::Gzip, Coding::Brotli]));
    assert_eq!(read(&["gzip, zstd"]), None);
    assert_eq!(read(&["gzip,gzip,gzip,gzip,gzip"]), None);
    let twice = gzip(&zlib(b"inside"));
    assert_eq!(super::tests::read(decode(stream(&twice, 3), &[Coding::Deflate, Coding::Gzip])).unwrap().0, b"inside");
}
