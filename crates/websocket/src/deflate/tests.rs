use super::*;

fn inflated(pieces: &[&[u8]], limit: u64) -> Result<Vec<u8>, ProtocolError> {
    let (mut inflate, mut out) = (Inflate::new(ByteSize(limit)), Vec::new());
    for piece in pieces {
        push(&mut inflate, piece, &mut out)?;
    }
    inflate.finish(&mut out).map(|()| out)
}

/// All of `input`, a poll's budget at a time.
fn push(inflate: &mut Inflate, mut input: &[u8], out: &mut Vec<u8>) -> Result<(), ProtocolError> {
    while !input.is_empty() {
        let taken = inflate.push(input, out, &mut Budget::for_poll())?;
        assert!(taken > 0);
        input = &input[taken..];
    }
    Ok(())
}

fn text(length: usize) -> Vec<u8> {
    (0..length).map(|at| b"the quick brown fox "[at % 20] ^ u8::try_from(at / 5000 % 3).unwrap()).collect()
}

#[test]
fn messages_round_trip_in_any_pieces() {
    for length in [MIN_COMPRESSED, 5000, 100_000, MAX_COMPRESSED] {
        let message = text(length);
        let small = deflate(&message).unwrap();
        assert!(small.len() < length / 4, "{length}: {}", small.len());
        assert_eq!(inflated(&[&small], MAX_COMPRESSED as u64).unwrap(), message);
        for size in [1, 7, 1000] {
            let pieces: Vec<&[u8]> = small.chunks(size).collect();
            assert_eq!(inflated(&pieces, MAX_COMPRESSED as u64).unwrap(), message, "{length} by {size}");
        }
    }
}

#[test]
fn the_examples_of_the_rfc() {
    // RFC 7692, 7.2.3.1 to 7.2.3.5.
    assert_eq!(inflated(&[b"\xf2\x48\xcd\xc9\xc9\x07\x00"], 5).unwrap(), b"Hello");
    assert_eq!(inflated(&[b"\xf2\x48\xcd", b"\xc9\xc9\x07\x00"], 5).unwrap(), b"Hello");
    assert_eq!(inflated(&[b"\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00"], 5).unwrap(), b"Hello");
    assert_eq!(inflated(&[b"\xf3\x48\xcd\xc9\xc9\x07\x00\x00"], 5).unwrap(), b"Hello", "a last block and more");
    assert_eq!(inflated(&[b"\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00"], 5).unwrap(), b"Hello");
    assert_eq!(inflated(&[b"\x00"], 5).unwrap(), b"", "an empty message");
}

#[test]
fn a_bomb_is_stopped_at_the_limit() {
    let mut compress = Compress::new(flate2::Compression::best(), false);
    let mut bomb = Vec::with_capacity(1 << 20);
    compress.compress_vec(&vec![0; 64 << 20], &mut bomb, FlushCompress::Sync).unwrap();
    assert!(bomb.len() < 100_000);
    let (mut inflate, mut out) = (Inflate::new(ByteSize::mb(1)), Vec::new());
    assert_eq!(push(&mut inflate, &bomb, &mut out), Err(ProtocolError::TooLarge { limit: ByteSize::mb(1) }));
    assert!(out.capacity() <= 1 << 20, "{}", out.capacity());
    assert_eq!(inflated(&[b"\xf2\x48\xcd\xc9\xc9\x07\x00"], 4), Err(ProtocolError::TooLarge { limit: ByteSize(4) }));
}

#[test]
fn invalid_deflate_data_is_an_error() {
    for bad in [&b"\xff\xff\xff\xff"[..], b"\x07", b"\x00\x05\x00\x00\x00"] {
        assert_eq!(inflated(&[bad], 1000), Err(ProtocolError::Deflate), "{bad:?}");
    }
}

#[test]
fn short_long_and_random_messages_stay_uncompressed() {
    assert_eq!((deflate(&text(MIN_COMPRESSED - 1)), deflate(&text(MAX_COMPRESSED + 1))), (None, None));
    let mut noise = vec![0; 4096];
    getrandom::fill(&mut noise).unwrap();
    assert_eq!(deflate(&noise), None);
}

#[test]
fn offers() {
    let offered = |values: &[&str]| {
        let mut headers = Headers::new();
        values.iter().for_each(|value| headers.push(b"sec-websocket-extensions", value.as_bytes()));
        is_offered(&headers)
    };
    for good in [
        "permessage-deflate",
        "permessage-deflate; client_max_window_bits",
        "Permessage-Deflate ; client_max_window_bits=12; server_no_context_takeover",
        "x-webkit, permessage-deflate; client_no_context_takeover",
        "permessage-deflate; server_max_window_bits=10, permessage-deflate",
        "permessage-deflate; client_max_window_bits=\"10\"",
    ] {
        assert!(offered(&[good]), "{good}");
    }
    for bad in [
        "",
        "x-webkit-deflate-frame",
        "permessage-deflate; server_max_window_bits=10",
        "permessage-deflate; client_max_window_bits=7",
        "permessage-deflate; client_max_window_bits=16",
        "permessage-deflate; client_max_window_bits; client_max_window_bits",
        "permessage-deflate; server_no_context_takeover=1",
        "permessage-deflate; what",
    ] {
        assert!(!offered(&[bad]), "{bad}");
    }
    assert!(offered(&["other", "permessage-deflate"]));
}

/// A message of `zeros` zeros, and blocks without content that are marked as the last.
fn last_blocks(zeros: usize, blocks: usize) -> Vec<u8> {
    let mut compress = Compress::new(flate2::Compression::best(), false);
    let mut message = Vec::with_capacity(zeros / 500 + 100);
    compress.compress_vec(&vec![0; zeros], &mut message, FlushCompress::Sync).unwrap();
    message.extend([3, 0].repeat(blocks));
    message
}

#[test]
fn last_blocks_are_bounded() {
    let most = MAX_LAST_BLOCKS as usize;
    assert_eq!(inflated(&[&last_blocks(100, most)], 1000).unwrap(), [0; 100]);
    assert_eq!(inflated(&[&last_blocks(100, most + 1)], 1000), Err(ProtocolError::LastBlocks));
    let one_by_one = last_blocks(100, most + 1);
    assert_eq!(inflated(&one_by_one.chunks(1).collect::<Vec<_>>(), 1000), Err(ProtocolError::LastBlocks));
}

/// However long the message is, each piece is decompressed into the same small buffer, and only that is cleared.
#[test]
fn a_budget_ends_a_push_within_the_room_for_output() {
    let message = last_blocks(8 << 20, 0);
    let (mut inflate, mut out, mut rest) = (Inflate::new(ByteSize::mb(16)), Vec::new(), &message[..]);
    let mut pushes = 0;
    while !rest.is_empty() {
        let before = out.len();
        let taken = inflate.push(rest, &mut out, &mut Budget::for_poll()).unwrap();
        rest = &rest[taken..];
        // A deflate window and the output of one byte may exceed it.
        assert!(out.len() - before <= 256 * 1024 + 64 * 1024, "{}", out.len() - before);
        pushes += 1;
    }
    inflate.finish(&mut out).unwrap();
    assert_eq!((out.len(), inflate.piece.len()), (8 << 20, PIECE));
    assert!(pushes >= 8, "{pushes}");
}
