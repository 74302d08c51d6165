#![allow(clippy::unwrap_used)]

use std::time::Duration;

use super::*;
use crate::protocol::answer::{Answer, Failure, FailureKind};
use crate::protocol::exec::{Command, End, Exec, Language, Signal, Stdin, Stream};
use crate::protocol::file::{Entry, EntryKind, Missing, Removal};
use crate::protocol::passage::{Inward, Outward, PassageId};
use crate::protocol::request::{CallId, Request};
use crate::protocol::wire::Blob;

fn requests() -> Vec<Request> {
    let id = CallId(u64::MAX);
    let path = "/work/ü \0 name".to_owned();
    let exec = |command, stdin| Exec {
        command,
        env: vec![("A".into(), "1".into()), (String::new(), "=".into())],
        cwd: Some("/tmp".into()),
        stdin,
        timeout: Duration::from_millis(1500),
        output_limit: 1 << 20,
    };
    let code = Command::Code { language: Language::Python, source: Blob(vec![0, 255]), session: Some("s".into()) };
    let argv = Command::Argv { argv: vec!["ls".into(), "-l".into()] };
    vec![
        Request::Hello { version: 1, nonce: 7 },
        Request::Ping { id },
        Request::Warm { id, languages: Language::ALL.to_vec() },
        Request::Exec { id, exec: exec(code, Stdin::Empty {}) },
        Request::Exec { id, exec: exec(argv, Stdin::Bytes { bytes: Blob(b"in".to_vec()) }) },
        Request::Exec { id, exec: exec(Command::Shell { line: "true".into() }, Stdin::Open {}) },
        Request::Stdin { id, bytes: Blob(vec![1; 1000]) },
        Request::CloseStdin { id },
        Request::Signal { id, signal: Signal(15) },
        Request::Cancel { id },
        Request::EndSession { id, language: Language::Bash, session: "s".into() },
        Request::Read { id, path: path.clone(), offset: 3, limit: 4 },
        Request::Write { id, path: path.clone(), mode: Some(0o755), missing: Missing::Create },
        Request::Chunk { id, bytes: Blob(Vec::new()) },
        Request::Finish { id },
        Request::List { id, path: path.clone(), after: None, limit: 10 },
        Request::Stat { id, path: path.clone() },
        Request::Remove { id, path: path.clone(), removal: Removal::Tree },
        Request::Mkdir { id, path: path.clone(), missing: Missing::Refuse },
        Request::Rename { id, from: path.clone(), to: path },
        Request::Reseed { id, seed: Blob(vec![9; 32]) },
        Request::SetClock { id, now: Duration::from_secs(1) },
        Request::Listen { id, port: 3128 },
        Request::Passage { passage: PassageId(1), word: Inward::Data { bytes: Blob(vec![0; 9]) } },
        Request::Passage { passage: PassageId(1), word: Inward::End {} },
        Request::Passage { passage: PassageId(u32::MAX), word: Inward::Taken { bytes: 9 } },
        Request::Passage { passage: PassageId(1), word: Inward::Close {} },
    ]
}

fn answers() -> Vec<Answer> {
    let id = CallId(3);
    let entry = Entry {
        name: "a".into(),
        kind: EntryKind::Link,
        size: 1,
        mode: 0o777,
        modified: Duration::from_nanos(1),
        target: Some("b".into()),
    };
    vec![
        Answer::Hello { version: 1, nonce: 7, languages: vec![Language::Sh] },
        Answer::Pong { id },
        Answer::Output { id, stream: Stream::Stderr, bytes: Blob(vec![0; 10]) },
        Answer::Taken { id, bytes: 9 },
        Answer::Exit { id, end: End::Code { code: 42 }, timed_out: false, truncated: true, duration: Duration::ZERO },
        Answer::Exit {
            id,
            end: End::Killed { signal: Signal(9) },
            timed_out: true,
            truncated: false,
            duration: Duration::ZERO,
        },
        Answer::Omitted { id, stream: Stream::Stdout, bytes: u64::MAX },
        Answer::SessionLost { id },
        Answer::Data { id, bytes: Blob(vec![1]), end: true, size: 1 },
        Answer::Entries { id, entries: vec![entry.clone(), entry.clone()], more: true },
        Answer::Found { id, entry },
        Answer::Done { id },
        Answer::Failed { id, failure: Failure { kind: FailureKind::Full, message: "full".into() } },
        Answer::Listening { id, port: 3128 },
        Answer::Passage { passage: PassageId(1), word: Outward::Opened {} },
        Answer::Passage { passage: PassageId(1), word: Outward::Data { bytes: Blob(vec![0; 9]) } },
        Answer::Passage { passage: PassageId(1), word: Outward::End {} },
        Answer::Passage { passage: PassageId(1), word: Outward::Taken { bytes: 9 } },
        Answer::Passage { passage: PassageId(1), word: Outward::Gone {} },
    ]
}

fn written<M: Wire>(messages: &[M]) -> Vec<u8> {
    let mut bytes = Vec::new();
    messages.iter().for_each(|message| encode(message, &mut bytes).unwrap());
    bytes
}

fn read_in_pieces<M: Wire>(bytes: &[u8], piece: usize) -> Vec<M> {
    let mut decoder = Decoder::new();
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
        assert_eq!(read_in_pieces::<Request>(&written(&requests()), piece), requests(), "pieces of {piece}");
        assert_eq!(read_in_pieces::<Answer>(&written(&answers()), piece), answers(), "pieces of {piece}");
    }
}

#[test]
fn a_cut_or_longer_body_is_no_message() {
    for request in requests() {
        let mut body = Vec::new();
        request.put(&mut body);
        for cut in 0..body.len() {
            assert!(Request::take(&mut &body[..cut]).is_err(), "{request:?} cut at {cut}");
        }
        body.push(0);
        let mut frame = (body.len() as u32).to_le_bytes().to_vec();
        frame.extend_from_slice(&body);
        let mut decoder = Decoder::new();
        decoder.push(&frame);
        assert_eq!(decoder.message::<Request>(), Err(Malformed::Surplus(1)), "{request:?}");
    }
}

#[test]
fn lengths_that_lie_take_no_memory() {
    let mut decoder = Decoder::new();
    decoder.push(&u32::MAX.to_le_bytes());
    assert_eq!(decoder.message::<Answer>(), Err(Malformed::TooLong(u32::MAX as usize)));
    // A list of four thousand million entries in nine bytes.
    let mut body = vec![21];
    body.extend_from_slice(&3_u64.to_le_bytes());
    body.extend_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(Answer::take(&mut &body[..]), Err(Malformed::Cut));
}

#[test]
fn what_is_too_long_is_not_written() {
    let mut bytes = vec![1, 2, 3];
    let long = Request::Stdin { id: CallId(1), bytes: Blob(vec![0; LONGEST]) };
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
            let mut decoder = Decoder::new();
            decoder.push(&damaged);
            while let Ok(Some(_)) = decoder.message::<Answer>() {}
        }
    }
}
