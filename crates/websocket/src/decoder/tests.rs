#![allow(clippy::unwrap_used)]

use super::*;
use crate::encoder::Encoder;
use crate::write_queue::FrameQueue;

const LIMIT: ByteSize = ByteSize(1 << 20);

fn text(text: &str) -> Received {
    Received::Message(Message::Text(text.to_owned()))
}

/// Everything in `bytes`, or the violation.
fn all(role: Role, bytes: &[u8]) -> Result<Vec<Received>, ProtocolError> {
    let (mut decoder, mut read_buf, mut received) = (Decoder::new(role, LIMIT), BytesMut::from(bytes), Vec::new());
    while let Some(next) = decoder.decode(&mut read_buf)? {
        received.push(next);
    }
    Ok(received)
}

/// The same, a byte at a time.
fn slowly(role: Role, bytes: &[u8]) -> Result<Vec<Received>, ProtocolError> {
    let (mut decoder, mut read_buf, mut received) = (Decoder::new(role, LIMIT), BytesMut::new(), Vec::new());
    for byte in bytes {
        read_buf.extend_from_slice(&[*byte]);
        while let Some(next) = decoder.decode(&mut read_buf)? {
            received.push(next);
        }
    }
    Ok(received)
}

/// The examples of RFC 6455, 5.7.
#[test]
fn the_examples_of_the_rfc() {
    let hello = &[0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f];
    assert_eq!(all(Role::Client, hello).unwrap(), [text("Hello")]);
    let masked = &[0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
    assert_eq!(all(Role::Server, masked).unwrap(), [text("Hello")]);
    let fragments = &[0x01, 0x03, 0x48, 0x65, 0x6c, 0x80, 0x02, 0x6c, 0x6f];
    assert_eq!(all(Role::Client, fragments).unwrap(), [text("Hello")]);
    let ping = &[0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f];
    assert_eq!(all(Role::Client, ping).unwrap(), [Received::Ping(Bytes::from_static(b"Hello"))]);
    let pong = &[0x8a, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
    assert_eq!(all(Role::Server, pong).unwrap(), [Received::Pong(Bytes::from_static(b"Hello"))]);
    let short = [&[0x82, 0x7e, 0x01, 0x00][..], &[7; 256]].concat();
    assert_eq!(all(Role::Client, &short).unwrap(), [Received::Message(Message::Binary(vec![7; 256].into()))]);
    let long = [&[0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0][..], &[7; 65536]].concat();
    assert_eq!(all(Role::Client, &long).unwrap(), [Received::Message(Message::Binary(vec![7; 65536].into()))]);
}

#[test]
fn control_frames_may_come_between_fragments() {
    let bytes = b"\x01\x02He\x89\x01x\x00\x01l\x8a\x00\x80\x02lo\x88\x04\x03\xe8ok";
    let expected = [
        Received::Ping(Bytes::from_static(b"x")),
        Received::Pong(Bytes::new()),
        text("Hello"),
        Received::Close(Close::new(1000, "ok")),
    ];
    assert_eq!(all(Role::Client, bytes).unwrap(), expected);
    assert_eq!(slowly(Role::Client, bytes).unwrap(), expected);
}

#[test]
fn text_is_checked_across_fragments() {
    let fire = "🔥".as_bytes();
    let cut = [b"\x01\x02", &fire[..2], b"\x80\x02", &fire[2..]].concat();
    assert_eq!(all(Role::Client, &cut).unwrap(), [text("🔥")]);
    // Before the message has ended, and before the frame has.
    assert_eq!(all(Role::Client, b"\x01\x7d\xff"), Err(ProtocolError::Utf8));
    assert_eq!(all(Role::Client, &[b"\x01\x02", &fire[..2], b"\x80\x00"].concat()), Err(ProtocolError::Utf8));
    assert_eq!(all(Role::Client, &[b"\x81\x02", &fire[..2]].concat()), Err(ProtocolError::Utf8));
    assert!(all(Role::Client, b"\x82\x02\xff\xff").is_ok(), "binary messages are not text");
}

#[test]
fn fragments_are_in_order() {
    assert_eq!(all(Role::Client, b"\x80\x00"), Err(ProtocolError::LooseContinuation));
    assert_eq!(all(Role::Client, b"\x01\x00\x81\x00"), Err(ProtocolError::Interrupted));
    assert_eq!(all(Role::Client, b"\x81\x00\x80\x00"), Err(ProtocolError::LooseContinuation));
}

#[test]
fn a_message_too_large_is_rejected_before_its_payload() {
    let too_large = Err(ProtocolError::TooLarge { limit: LIMIT });
    assert_eq!(all(Role::Client, &[0x82, 0x7f, 0, 0, 0, 0, 0, 0x10, 0, 1]), too_large);
    assert_eq!(all(Role::Client, &[0x82, 0x7f, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), too_large);
    let mut fragments = [&[0x02, 0x7f, 0, 0, 0, 0, 0, 0x10, 0, 0][..], &[0; 1 << 20]].concat();
    assert_eq!(all(Role::Client, &fragments).unwrap(), [], "as large as it may be");
    fragments.extend_from_slice(b"\x80\x01");
    assert_eq!(all(Role::Client, &fragments), too_large);
}

#[test]
fn an_error_is_permanent() {
    let mut decoder = Decoder::new(Role::Client, LIMIT);
    assert_eq!(decoder.decode(&mut BytesMut::from(&b"\x83\x00"[..])), Err(ProtocolError::Opcode));
    assert_eq!(decoder.decode(&mut BytesMut::from(&b"\x81\x00"[..])), Err(ProtocolError::Opcode));
}

#[test]
fn encoded_messages_round_trip() {
    let messages = [0, 1, 125, 126, 65_535, 65_536, 1 << 20]
        .map(|size| [Message::Text("é".repeat(size / 2)), Message::Binary(vec![7; size].into())]);
    for (from, to) in [(Role::Client, Role::Server), (Role::Server, Role::Client)] {
        let (mut encoder, mut write_queue) = (Encoder::new(from), FrameQueue::default());
        for message in messages.as_flattened() {
            encoder.message(message.clone(), &mut write_queue);
            encoder.ping(b"p", &mut write_queue);
        }
        encoder.close(&Close::new(4000, "bye"), &mut write_queue);
        let received = all(to, &write_queue.take()).unwrap();
        assert_eq!(received.len(), messages.as_flattened().len() * 2 + 1);
        for (pair, message) in received.chunks(2).zip(messages.as_flattened()) {
            assert_eq!(pair, [Received::Message(message.clone()), Received::Ping(Bytes::from_static(b"p"))]);
        }
        assert_eq!(received.last(), Some(&Received::Close(Close::new(4000, "bye"))));
    }
}

/// Random frames, most of them wrong in some way: the result is the same however they arrive, and nothing panics.
#[test]
fn any_bytes_give_the_same_result_however_they_arrive() {
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = |limit: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) % limit
    };
    for _ in 0..20_000 {
        let mut bytes = Vec::new();
        for _ in 0..=next(6) {
            let first = [0x81, 0x82, 0x01, 0x00, 0x80, 0x88, 0x89, 0x8a, next(256) as u8][next(9) as usize];
            let length = next(8) as u8;
            bytes.extend_from_slice(&[first, 0x80 | length, next(256) as u8, next(256) as u8, 0, 0]);
            bytes.extend((0..length).map(|_| if next(4) == 0 { next(256) as u8 } else { b'a' }));
        }
        bytes.truncate(bytes.len() - next(3) as usize);
        let (at_once, slowly) = (all(Role::Server, &bytes), slowly(Role::Server, &bytes));
        match (at_once, slowly) {
            (Ok(at_once), Ok(slowly)) => assert_eq!(at_once, slowly),
            (Err(at_once), Err(slowly)) => assert_eq!(at_once, slowly),
            different => panic!("{different:?} for {bytes:?}"),
        }
    }
}

#[test]
fn frames_without_content_are_bounded() {
    let message = |empty: usize| [&b"\x02\x00"[..], &b"\x00\x00".repeat(empty - 1), b"\x80\x01x"].concat();
    let most = MAX_EMPTY_FRAMES as usize;
    let expected = Received::Message(Message::Binary(Bytes::from_static(b"x")));
    assert_eq!(all(Role::Client, &message(most)).unwrap(), std::slice::from_ref(&expected));
    assert_eq!(all(Role::Client, &message(most + 1)), Err(ProtocolError::EmptyFrames));
    assert_eq!(ProtocolError::EmptyFrames.code(), 1008);
    // The limit counts per message.
    assert_eq!(all(Role::Client, &[message(most), message(most)].concat()).unwrap(), [expected.clone(), expected]);
}

#[test]
fn a_budget_interrupts_and_loses_nothing() {
    let frame = |payload: &[u8]| {
        let (mut encoder, mut write_queue) = (Encoder::new(Role::Server).with(Deflate::On), FrameQueue::default());
        encoder.message(Message::Binary(Bytes::copy_from_slice(payload)), &mut write_queue);
        write_queue.take()
    };
    let payload = vec![7; 1 << 20];
    let mut read_buf = BytesMut::from(&[frame(&payload), frame(b"short")].concat()[..]);
    let mut decoder = Decoder::new(Role::Client, LIMIT).with(Deflate::On);
    let (mut rests, mut messages) = (0, Vec::new());
    loop {
        match decoder.decode_with_budget(&mut read_buf, &mut Budget::for_poll()).unwrap() {
            Decoded::Yield => rests += 1,
            Decoded::Received(received) => messages.push(received),
            Decoded::NeedsInput => break,
        }
    }
    let binary = |payload: &[u8]| Received::Message(Message::Binary(Bytes::copy_from_slice(payload)));
    assert_eq!(messages, [binary(&payload), binary(b"short")]);
    assert!(rests >= 2, "{rests}");
}
