//! Frames made by hand, which a real client would not send.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use h2::Reason;
use hearth_gateway::Config;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http2::{Client2, request};
use crate::support::*;

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const GOAWAY: u8 = 7;

struct Frame {
    kind: u8,
    stream: u32,
    payload: Vec<u8>,
}

struct Frames;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The preface and empty settings.
fn opening() -> Vec<u8> {
    [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &frame(4, 0, 0, &[])[..]].concat()
}

/// `GET http://h/`, complete.
fn get_frame(stream: u32) -> Vec<u8> {
    frame(HEADERS, 0x5, stream, &[0x82, 0x86, 0x84, 0x41, 1, b'h'])
}

impl Frames {
    /// Reads frames until one of them is wanted, or the connection ends.
    async fn read_until(stream: &mut TcpStream, wanted: impl Fn(&Frame) -> bool) -> Vec<Frame> {
        let mut all = Vec::new();
        loop {
            let mut head = [0; 9];
            if stream.read_exact(&mut head).await.is_err() {
                return all;
            }
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let mut payload = vec![0; length];
            stream.read_exact(&mut payload).await.unwrap();
            let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            let frame = Frame { kind: head[3], stream: id, payload };
            let found = wanted(&frame);
            all.push(frame);
            if found {
                return all;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_preface_may_be_cut_anywhere() {
    let server = start(Config::default(), mirror).await;
    for cut in 1..=24 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let start = opening();
        stream.write_all(&start[..cut]).await.unwrap();
        // Not needed for the outcome, but it makes it likely that the server sees the cut.
        tokio::time::sleep(Duration::from_millis(5)).await;
        stream.write_all(&start[cut..]).await.unwrap();
        stream.write_all(&get_frame(1)).await.unwrap();
        let frames = Frames::read_until(&mut stream, |frame| frame.kind == HEADERS).await;
        assert_eq!(frames.last().unwrap().stream, 1, "{cut}");
    }
    // Incomplete, and not a request.
    let mut client = server.connect().await;
    assert_eq!(client.ask(get("/")).await.status, 200);
    assert_eq!(client.ask("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.status, 505);
}

#[tokio::test(flavor = "multi_thread")]
async fn rapid_resets_end_the_connection() {
    let server = start(Config::default(), mirror).await;
    let mut other = Client2::connect(&server).await;
    let (mut reads, mut writes) = TcpStream::connect(server.address).await.unwrap().into_split();
    let flood = tokio::spawn(async move {
        let mut bytes = opening();
        for n in 0..20_000u32 {
            let stream = n * 2 + 1;
            bytes.extend(get_frame(stream));
            bytes.extend(frame(RST_STREAM, 0, stream, &8u32.to_be_bytes()));
        }
        // The server may close before it has read everything.
        let _ = writes.write_all(&bytes).await;
        writes
    });
    let mut all = Vec::new();
    let _ = reads.read_to_end(&mut all).await;
    flood.await.unwrap();
    // Either the GOAWAY arrived, or the reset of a connection that was closed in the middle of the flood.
    let (mut at, mut reason) = (0, None);
    while at + 9 <= all.len() {
        let length = u32::from_be_bytes([0, all[at], all[at + 1], all[at + 2]]) as usize;
        if all[at + 3] == GOAWAY && at + 17 <= all.len() {
            reason = all[at + 13..at + 17].try_into().ok().map(u32::from_be_bytes);
        }
        at += 9 + length;
    }
    assert!(reason.is_none_or(|reason| reason == u32::from(Reason::ENHANCE_YOUR_CALM)), "{reason:?}");
    assert_eq!(other.ask(request("/")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_heads_are_refused_by_stream() {
    let seen = Arc::new(AtomicUsize::new(0));
    let counter = seen.clone();
    let server = start(Config::default(), move |request| {
        counter.fetch_add(1, SeqCst);
        mirror(request)
    })
    .await;
    let literal = |name: &str, value: &str| {
        [&[0, name.len() as u8], name.as_bytes(), &[value.len() as u8], value.as_bytes()].concat()
    };
    let fine: &[u8] = &[0x82, 0x86, 0x84, 0x41, 1, b'h'];
    let heads = [
        // Headers that concern a connection.
        [fine, &literal("connection", "close")].concat(),
        [fine, &literal("transfer-encoding", "chunked")].concat(),
        [fine, &literal("upgrade", "websocket")].concat(),
        [fine, &literal("te", "gzip")].concat(),
        // Names must be in lower case.
        [fine, &literal("X-Upper", "x")].concat(),
        // Pseudo-headers: unknown, of responses, late, missing, twice.
        [fine, &literal(":what", "x")].concat(),
        [fine, &literal(":status", "200")].concat(),
        [&literal("x", "y")[..], fine].concat(),
        vec![0x86, 0x84, 0x41, 1, b'h'],
        vec![0x82, 0x84, 0x41, 1, b'h'],
        [&[0x82][..], fine].concat(),
    ];
    for head in heads {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(&[opening(), frame(HEADERS, 0x5, 1, &head)].concat()).await.unwrap();
        let frames = Frames::read_until(&mut stream, |frame| matches!(frame.kind, RST_STREAM | HEADERS | GOAWAY)).await;
        let last = frames.last().unwrap();
        assert!(matches!(last.kind, RST_STREAM | GOAWAY), "{head:?}: frame {}", last.kind);
        let code = &last.payload[last.payload.len().min(if last.kind == GOAWAY { 4 } else { 0 })..][..4];
        assert_eq!(code, u32::from(Reason::PROTOCOL_ERROR).to_be_bytes(), "{head:?}");
    }
    assert_eq!(seen.load(SeqCst), 0);
}
