#![allow(clippy::unwrap_used)]
use super::*;

/// The data and how much of the input was used, or the error; `None` while it is incomplete.
fn decode(pieces: &[&[u8]], limit: u64) -> Result<Option<(Vec<u8>, usize)>, ChunkError> {
    let (mut decoder, mut data, mut used) = (ChunkedDecoder::new(limit), Vec::new(), 0);
    for piece in pieces {
        let mut at = 0;
        loop {
            match decoder.next(piece, &mut at)? {
                ChunkEvent::Data(range) => data.extend_from_slice(&piece[range]),
                ChunkEvent::More => break,
                ChunkEvent::End => return Ok(Some((data, used + at))),
            }
        }
        used += piece.len();
    }
    Ok(None)
}

#[test]
fn any_split_of_the_input_gives_the_same_data() {
    let good = b"5\r\nhello\r\n00A;name=\"va;lue\";x\r\n0123\r\n6789\r\n000\r\nTrailer: x\r\nOther:\r\n\r\nNEXT";
    let whole = decode(&[good], 100).unwrap().unwrap();
    assert_eq!(whole, (b"hello0123\r\n6789".to_vec(), good.len() - 4));
    for a in 0..good.len() {
        for b in a..good.len() {
            assert_eq!(decode(&[&good[..a], &good[a..b], &good[b..]], 100).unwrap().unwrap(), whole, "{a} {b}");
        }
    }
    for end in 0..good.len() - 4 {
        assert_eq!(decode(&[&good[..end]], 100), Ok(None), "{end}");
    }
}

#[test]
fn inexact_framing_is_rejected() {
    for (text, error) in [
        ("\r\n", ChunkError::Size),
        (";x\r\n", ChunkError::Size),
        ("g\r\n", ChunkError::Size),
        ("0x5\r\n", ChunkError::Size),
        ("+5\r\n", ChunkError::Size),
        ("-5\r\n", ChunkError::Size),
        (" 5\r\n", ChunkError::Size),
        ("5 \r\n", ChunkError::Size),
        ("5 ;x\r\n", ChunkError::Size),
        ("5\n", ChunkError::Size),
        ("5\rx", ChunkError::Size),
        ("00000000000000005\r\n", ChunkError::Size),
        ("5;x\n", ChunkError::Extension),
        ("5;x\0\r\n", ChunkError::Extension),
        ("5\r\nhello6", ChunkError::Frame),
        ("5\r\nhello\n", ChunkError::Frame),
        ("5\r\nhello\rx", ChunkError::Frame),
        ("5\r\nhell\r\n0\r\n\r\n", ChunkError::Frame),
        ("0\r\nx\n", ChunkError::Trailer),
        ("0\r\nx\r\n", ChunkError::Trailer),
        ("0\r\n: y\r\n", ChunkError::Trailer),
        ("0\r\nGET / HTTP/1.1\r\n", ChunkError::Trailer),
        ("0\r\nx : y\r\n", ChunkError::Trailer),
        ("0\r\nx: y\n", ChunkError::Trailer),
        ("0\r\n x: y\r\n", ChunkError::Trailer),
        ("0\r\nx: y\rz", ChunkError::Trailer),
        ("0\r\n\rx", ChunkError::Trailer),
        ("0\r\n\n", ChunkError::Trailer),
        ("FFFFFFFFFFFFFFFF\r\n", ChunkError::TooLarge),
        ("65\r\n", ChunkError::TooLarge),
        ("64\r\n", ChunkError::TooLarge),
    ] {
        let limit = if text == "64\r\n" { 99 } else { 100 };
        assert_eq!(decode(&[text.as_bytes()], limit), Err(error), "{text:?}");
    }
}

#[test]
fn the_limit_counts_all_chunks_and_fails_before_their_data() {
    assert!(decode(&[b"5\r\n12345\r\n5\r\n12345\r\n0\r\n\r\n"], 10).unwrap().is_some());
    assert_eq!(decode(&[b"5\r\n12345\r\n6\r\n"], 10), Err(ChunkError::TooLarge));
}

#[test]
fn extensions_trailers_and_framing_are_bounded() {
    let extension = |n: usize| format!("1;{}\r\nx\r\n0\r\n\r\n", "e".repeat(n));
    assert!(decode(&[extension(1024).as_bytes()], 10).unwrap().is_some());
    assert_eq!(decode(&[extension(1025).as_bytes()], 10), Err(ChunkError::Extension));
    let trailers = |n: usize| format!("0\r\n{}\r\n", "x: y\r\n".repeat(n));
    assert!(decode(&[trailers(2000).as_bytes()], 10).unwrap().is_some());
    assert_eq!(decode(&[trailers(2100).as_bytes()], 10), Err(ChunkError::Trailer));
    // A byte at a time is slow but honest; a byte with a long extension each time is not.
    let tiny = "1\r\nx\r\n".repeat(50_000) + "0\r\n\r\n";
    assert_eq!(decode(&[tiny.as_bytes()], 100_000).unwrap().unwrap().0.len(), 50_000);
    let padded = format!("1;{}\r\nx\r\n", "e".repeat(1000)).repeat(20);
    assert_eq!(decode(&[padded.as_bytes()], 100_000), Err(ChunkError::Excess));
}

#[test]
fn written_sizes_can_be_parsed() {
    for size in [1, 9, 15, 16, 255, 256, 4096, 65_535, 65_536, usize::MAX] {
        let mut out = Vec::new();
        push_size(&mut out, size);
        assert_eq!(out, format!("{size:x}\r\n").into_bytes());
    }
}
