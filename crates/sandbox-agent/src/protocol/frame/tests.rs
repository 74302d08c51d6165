#![allow(clippy::unwrap_used)]

use std::time::Duration;

use super::*;
use crate::protocol::exec::{End, Exec, GuestCommand, Language, OutputStream, Signal, Stdin};
use crate::protocol::file::{EntryKind, FileEntry, Missing, Removal};
use crate::protocol::reply::{AgentReply, CallFailure, FailureKind};
use crate::protocol::request::{AgentCallId, AgentRequest};
use crate::protocol::tunnel_stream::{FromGuest, ToGuest, TunnelConnId};
use crate::protocol::wire::Blob;

fn requests() -> Vec<AgentRequest> {
    let id = AgentCallId(u64::MAX);
    let path = "/work/ü \0 name".to_owned();
    let exec = |command, stdin| Exec {
        command,
        env: vec![("A".into(), "1".into()), (String::new(), "=".into())],
        cwd: Some("/tmp".into()),
        stdin,
        timeout: Duration::from_millis(1500),
        output_limit: 1 << 20,
    };
    let code = GuestCommand::Code { language: Language::Python, source: Blob(vec![0, 255]), session: Some("s".into()) };
    let argv = GuestCommand::Argv { argv: vec!["ls".into(), "-l".into()] };
    vec![
        AgentRequest::Hello { version: 1, nonce: 7 },
        AgentRequest::Ping { id },
        AgentRequest::Warm { id, languages: Language::ALL.to_vec() },
        AgentRequest::Exec { id, exec: exec(code, Stdin::Empty {}) },
        AgentRequest::Exec { id, exec: exec(argv, Stdin::Bytes { bytes: Blob(b"in".to_vec()) }) },
        AgentRequest::Exec { id, exec: exec(GuestCommand::Shell { line: "true".into() }, Stdin::Open {}) },
        AgentRequest::Stdin { id, bytes: Blob(vec![1; 1000]) },
        AgentRequest::CloseStdin { id },
        AgentRequest::Signal { id, signal: Signal(15) },
        AgentRequest::Cancel { id },
        AgentRequest::EndSession { id, language: Language::Bash, session: "s".into() },
        AgentRequest::Read { id, path: path.clone(), offset: 3, limit: 4 },
        AgentRequest::Write { id, path: path.clone(), mode: Some(0o755), missing: Missing::Create },
        AgentRequest::Chunk { id, bytes: Blob(Vec::new()) },
        AgentRequest::Finish { id },
        AgentRequest::List { id, path: path.clone(), after: None, limit: 10 },
        AgentRequest::Stat { id, path: path.clone() },
        AgentRequest::Remove { id, path: path.clone(), removal: Removal::Tree },
        AgentRequest::Mkdir { id, path: path.clone(), missing: Missing::Refuse },
        AgentRequest::Rename { id, from: path.clone(), to: path },
        AgentRequest::Reseed { id, seed: Blob(vec![9; 32]) },
        AgentRequest::SetClock { id, now: Duration::from_secs(1) },
        AgentRequest::Listen { id, port: 3128 },
        AgentRequest::Tunnel { conn: TunnelConnId(1), message: ToGuest::Data { bytes: Blob(vec![0; 9]) } },
        AgentRequest::Tunnel { conn: TunnelConnId(1), message: ToGuest::End {} },
        AgentRequest::Tunnel { conn: TunnelConnId(u32::MAX), message: ToGuest::Taken { bytes: 9 } },
        AgentRequest::Tunnel { conn: TunnelConnId(1), message: ToGuest::Close {} },
    ]
}

fn answers() -> Vec<AgentReply> {
    let id = AgentCallId(3);
    let entry = FileEntry {
        name: "a".into(),
        kind: EntryKind::Link,
        size: 1,
        mode: 0o777,
        modified: Duration::from_nanos(1),
        target: Some("b".into()),
    };
    vec![
        AgentReply::Hello { version: 1, nonce: 7, languages: vec![Language::Sh] },
        AgentReply::Pong { id },
        AgentReply::Output { id, stream: OutputStream::Stderr, bytes: Blob(vec![0; 10]) },
        AgentReply::Taken { id, bytes: 9 },
        AgentReply::Exit {
            id,
            end: End::Code { code: 42 },
            timed_out: false,
            truncated: true,
            duration: Duration::ZERO,
        },
        AgentReply::Exit {
            id,
            end: End::Killed { signal: Signal(9) },
            timed_out: true,
            truncated: false,
            duration: Duration::ZERO,
        },
        AgentReply::Omitted { id, stream: OutputStream::Stdout, bytes: u64::MAX },
        AgentReply::SessionLost { id },
        AgentReply::Data { id, bytes: Blob(vec![1]), end: true, size: 1 },
        AgentReply::Entries { id, entries: vec![entry.clone(), entry.clone()], more: true },
        AgentReply::Found { id, entry },
        AgentReply::Done { id },
        AgentReply::Failed { id, failure: CallFailure { kind: FailureKind::Full, message: "full".into() } },
        AgentReply::Listening { id, port: 3128 },
        AgentReply::Tunnel { conn: TunnelConnId(1), message: FromGuest::Opened {} },
        AgentReply::Tunnel { conn: TunnelConnId(1), message: FromGuest::Data { bytes: Blob(vec![0; 9]) } },
        AgentReply::Tunnel { conn: TunnelConnId(1), message: FromGuest::End {} },
        AgentReply::Tunnel { conn: TunnelConnId(1), message: FromGuest::Taken { bytes: 9 } },
        AgentReply::Tunnel { conn: TunnelConnId(1), message: FromGuest::Gone {} },
    ]
}

fn written<M: WireValue>(messages: &[M]) -> Vec<u8> {
    let mut bytes = Vec::new();
    messages.iter().for_each(|message| encode(message, &mut bytes).unwrap());
    bytes
}

fn read_in_pieces<M: WireValue>(bytes: &[u8], piece: usize) -> Vec<M> {
    let mut decoder = FrameDecoder::new();
    let mut messages = Vec::new();
    for piece in bytes.chunks(piece) {
        decoder.push(piece);
        while let Some(message) = decoder.message().unwrap() {
            messages.push(message);
        }
    }
    assert!(decoder.is_between_messages());
    messages
}

#[test]
fn messages_come_as_they_went_however_the_stream_is_cut() {
    for piece in [1, 2, 3, 7, 64, 1 << 20] {
        assert_eq!(read_in_pieces::<AgentRequest>(&written(&requests()), piece), requests(), "pieces of {piece}");
        assert_eq!(read_in_pieces::<AgentReply>(&written(&answers()), piece), answers(), "pieces of {piece}");
    }
}

#[test]
fn a_cut_or_longer_body_is_no_message() {
    for request in requests() {
        let mut body = Vec::new();
        request.put(&mut body);
        for cut in 0..body.len() {
            assert!(AgentRequest::take(&mut &body[..cut]).is_err(), "{request:?} cut at {cut}");
        }
        body.push(0);
        let mut frame = (body.len() as u32).to_le_bytes().to_vec();
        frame.extend_from_slice(&body);
        let mut decoder = FrameDecoder::new();
        decoder.push(&frame);
        assert_eq!(decoder.message::<AgentRequest>(), Err(Malformed::Surplus(1)), "{request:?}");
    }
}

#[test]
fn lengths_that_lie_take_no_memory() {
    let mut decoder = FrameDecoder::new();
    decoder.push(&u32::MAX.to_le_bytes());
    assert_eq!(decoder.message::<AgentReply>(), Err(Malformed::TooLong(u32::MAX as usize)));
    // A list of four thousand million entries in nine bytes.
    let mut body = vec![21];
    body.extend_from_slice(&3_u64.to_le_bytes());
    body.extend_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(AgentReply::take(&mut &body[..]), Err(Malformed::Cut));
}

#[test]
fn what_is_too_long_is_not_written() {
    let mut bytes = vec![1, 2, 3];
    let long = AgentRequest::Stdin { id: AgentCallId(1), bytes: Blob(vec![0; MAX_MESSAGE_BYTES]) };
    assert!(matches!(encode(&long, &mut bytes), Err(Malformed::TooLong(_))));
    assert_eq!(bytes, [1, 2, 3]);
}

/// Every single byte of every message changed in turn: an error or another message, never a panic.
#[test]
fn damaged_messages_are_survived() {
    let bytes = written(&answers());
    for place in 0..bytes.len() {
        for change in [1, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[place] ^= change;
            let mut decoder = FrameDecoder::new();
            decoder.push(&damaged);
            while let Ok(Some(_)) = decoder.message::<AgentReply>() {}
        }
    }
}
