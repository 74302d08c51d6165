use super::*;

fn inflated(pieces: &[&[u8]], limit: u64) -> Result<Vec<u8>, Violation> {
    let (mut inflate, mut out) = (Inflate::new(ByteSize(limit)), Vec::new());
    for piece in pieces {
        inflate.push(piece, &mut out)?;
    }
    inflate.finish(&mut out).map(|()| out)
}

fn text(length: usize) -> Vec<u8> {
    (0..length).map(|at| b"the quick brown fox "[at % 20] ^ u8::try_from(at / 5000 % 3).unwrap()).collect()
}

#[test]
fn there_and_back_in_any_pieces() {
    for length in [LEAST, 5000, 100_000, MOST] {
        let message = text(length);
        let small = deflate(&message).unwrap();
        assert!(small.len() < length / 4, "{length}: {}", small.len());
        assert_eq!(inflated(&[&small], MOST as u64).unwrap(), message);
        for size in [1, 7, 1000] {
            let pieces: Vec<&[u8]> = small.chunks(size).collect();
            assert_eq!(inflated(&pieces, MOST as u64).unwrap(), message, "{length} by {size}");
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
    assert_eq!(inflate.push(&bomb, &mut out), Err(Violation::TooLarge { limit: ByteSize::mb(1) }));
    assert!(out.capacity() <= (1 << 20) + 2 * PIECE, "{}", out.capacity());
    assert_eq!(inflated(&[b"\xf2\x48\xcd\xc9\xc9\x07\x00"], 4), Err(Violation::TooLarge { limit: ByteSize(4) }));
}

#[test]
fn what_is_no_deflate_is_a_violation() {
    for bad in [&b"\xff\xff\xff\xff"[..], b"\x07", b"\x00\x05\x00\x00\x00"] {
        assert_eq!(inflated(&[bad], 1000), Err(Violation::Deflate), "{bad:?}");
    }
}

#[test]
fn short_long_and_random_messages_go_as_they_are() {
    assert_eq!((deflate(&text(LEAST - 1)), deflate(&text(MOST + 1))), (None, None));
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
