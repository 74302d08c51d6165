//! What a WebSocket's peer may send. The first byte chooses the reader (`c`: a client, `z`: one that takes
//! compressed messages, anything else a server), the rest is frames.
//! Messages may have 64 bytes here, so that limits are met.

use bytes::BytesMut;
use hearth_core::ByteSize;
use hearth_core::websocket::Message;
use hearth_websocket::{Decoder, Deflate, Encoder, FrameQueue, Received, Role, parse_close};

const LIMIT: usize = 64;

pub fn check(data: &[u8]) {
    let Some((reader, data)) = data.split_first() else { return };
    let (role, deflate) = match reader {
        b'c' => (Role::Client, Deflate::Off),
        b'z' => (Role::Client, Deflate::On),
        _ => (Role::Server, Deflate::Off),
    };
    let (received, refused) = decode(role, deflate, data, data.len());
    for step in [1, 3] {
        assert_eq!(decode(role, deflate, data, step), (received.clone(), refused), "in steps of {step}");
    }
    for received in &received {
        if let Received::Message(message) = received {
            assert!(message.len() <= LIMIT, "{} bytes", message.len());
        }
    }
    if deflate == Deflate::On {
        // What was compressed is not looked into by the plain reader.
        return say_again(role, received);
    }
    let (plain, wrong) = read_plainly(role, data);
    assert_eq!(received, plain);
    assert!(refused || !wrong, "a plain reader refuses what was taken");
    say_again(role, received);
}

/// All that is in `data`, given in pieces of `step` bytes, and whether it was refused in the end.
fn decode(role: Role, deflate: Deflate, data: &[u8], step: usize) -> (Vec<Received>, bool) {
    let mut decoder = Decoder::new(role, ByteSize(LIMIT as u64)).with(deflate);
    let mut inbox = BytesMut::new();
    let mut received = Vec::new();
    for piece in data.chunks(step.max(1)) {
        inbox.extend_from_slice(piece);
        loop {
            match decoder.decode(&mut inbox) {
                Ok(Some(next)) => received.push(next),
                Ok(None) => break,
                Err(violation) => {
                    assert_eq!(decoder.decode(&mut inbox), Err(violation), "a violation is for good");
                    assert!(matches!(violation.code(), 1002 | 1007 | 1008 | 1009));
                    return (received, true);
                }
            }
        }
        assert!(inbox.len() < 14, "only the beginning of a header stays");
    }
    (received, false)
}

/// Frame by frame, as RFC 6455 writes them down; looks only at frames that are complete.
fn read_plainly(role: Role, mut data: &[u8]) -> (Vec<Received>, bool) {
    let (mut received, mut message): (Vec<Received>, Option<(u8, Vec<u8>)>) = (Vec::new(), None);
    while let [first, second, rest @ ..] = data {
        let (size, least) = match second & 0x7f {
            126 => (2, 126),
            127 => (8, 0x1_0000),
            _ => (0, 0),
        };
        let masked = second & 0x80 != 0;
        let head = size + if masked { 4 } else { 0 };
        if rest.len() < head {
            break;
        }
        let length = match size {
            0 => u64::from(second & 0x7f),
            _ => rest[..size].iter().fold(0, |length, byte| length << 8 | u64::from(*byte)),
        };
        let (fin, opcode) = (first & 0x80 != 0, first & 0x0f);
        let control = opcode >= 8;
        let known = matches!(opcode, 0..=2 | 8..=10);
        let in_order = control || (opcode == 0) == message.is_some();
        let so_far = message.as_ref().map_or(0, |(_, bytes)| bytes.len());
        let fits = if control { length <= 125 } else { length <= (LIMIT - so_far) as u64 };
        let masked_as_due = masked == (role == Role::Server);
        if first & 0x70 != 0 || !known || !masked_as_due || !in_order || !fits || length < least || (control && !fin) {
            return (received, true);
        }
        let length = length as usize;
        if rest.len() < head + length {
            break;
        }
        let key = if masked { &rest[size..size + 4] } else { &[0; 4] };
        let payload: Vec<u8> = rest[head..head + length].iter().zip(key.iter().cycle()).map(|(a, b)| a ^ b).collect();
        data = &rest[head + length..];
        match opcode {
            8 => match parse_close(&payload) {
                Ok(close) => received.push(Received::Close(close)),
                Err(_) => return (received, true),
            },
            9 => received.push(Received::Ping(payload.into())),
            10 => received.push(Received::Pong(payload.into())),
            _ => {
                let (kind, mut bytes) = message.take().unwrap_or((opcode, Vec::new()));
                bytes.extend(payload);
                match (fin, kind) {
                    (false, 1) if matches!(std::str::from_utf8(&bytes), Err(e) if e.error_len().is_some()) => {
                        return (received, true);
                    }
                    (false, _) => message = Some((kind, bytes)),
                    (true, 1) => match String::from_utf8(bytes) {
                        Ok(text) => received.push(Received::Message(Message::Text(text))),
                        Err(_) => return (received, true),
                    },
                    (true, _) => received.push(Received::Message(Message::Binary(bytes.into()))),
                }
            }
        }
    }
    (received, false)
}

/// What was received, sent by the other side's encoder, is received again.
fn say_again(role: Role, received: Vec<Received>) {
    let from = if role == Role::Server { Role::Client } else { Role::Server };
    let (mut encoder, mut outbox) = (Encoder::new(from), FrameQueue::default());
    for received in received.clone() {
        match received {
            Received::Message(message) => encoder.message(message, &mut outbox),
            Received::Ping(payload) => encoder.ping(&payload, &mut outbox),
            Received::Pong(payload) => encoder.pong(&payload, &mut outbox),
            Received::Close(close) => encoder.close(&close, &mut outbox),
        }
    }
    let bytes = outbox.take();
    assert_eq!(decode(role, Deflate::Off, &bytes, bytes.len()), (received, false));
}
