//! Streamed responses: framing, promised lengths, both directions at once, slow readers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use hearth_core::pipe::{DEFAULT_CAPACITY, pipe};
use hearth_core::{BodyError, ByteSize, Request};
use hearth_gateway::Config;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::support::*;

fn ok(text: &'static str) -> Result<Bytes, BodyError> {
    Ok(Bytes::from_static(text.as_bytes()))
}

/// Serves the pieces with that promised length.
async fn serving(all: Vec<Result<Bytes, BodyError>>, length: Option<u64>) -> Running {
    start(Config::default(), move |_| {
        let all = all.clone();
        async move { Ok(stream_response(Made(pieces(all), length))) }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_chunked_or_counted_or_ended_by_the_connection() {
    let server = serving(vec![ok("hel"), ok(""), ok("lo")], None).await;
    let mut client = server.connect().await;
    for _ in 0..2 {
        client.send(get("/")).await;
        assert_eq!(client.head().await.header("transfer-encoding"), "chunked");
        assert_eq!(client.until("0\r\n\r\n").await, "3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n");
    }
    let old = server.all("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").await;
    assert!(old.ends_with("connection: close\r\n\r\nhello") && !old.contains("content-length"), "{old}");

    let server = serving(vec![ok("hel"), ok("lo")], Some(5)).await;
    let mut client = server.connect().await;
    for _ in 0..2 {
        let reply = client.ask(get("/")).await;
        assert_eq!((reply.header("content-length"), reply.text()), ("5", "hello"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promised_length_is_kept_or_visibly_broken() {
    // More than promised: cut off, and the connection is kept.
    let server = serving(vec![ok("hel"), ok("lo, world"), ok("!")], Some(5)).await;
    let mut client = server.connect().await;
    for _ in 0..2 {
        assert_eq!(client.ask(get("/")).await.text(), "hello");
    }
    // Less: the connection ends early.
    let server = serving(vec![ok("hel")], Some(5)).await;
    let answer = server.all(get("/") + &get("/")).await;
    assert!(answer.ends_with("\r\n\r\nhel") && answer.matches("HTTP/1.1").count() == 1, "{answer}");
    assert_eq!(server.stop().await.aborted, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_fails_is_not_ended_properly() {
    let failing = vec![ok("hel"), Err(BodyError::Failed("x".into()))];
    let server = serving(failing.clone(), None).await;
    let answer = server.all(get("/") + &get("/")).await;
    assert!(answer.ends_with("\r\n\r\n3\r\nhel\r\n"), "{answer}");
    let server = serving(failing, None).await;
    // Without chunks only a reset shows the missing end.
    let mut client = server.connect().await;
    client.send("GET / HTTP/1.0\r\n\r\n").await;
    let ended = loop {
        match client.fill().await {
            Ok(0) => break Ok(()),
            Ok(_) => {}
            Err(error) => break Err(error.kind()),
        }
    };
    assert_eq!(ended, Err(std::io::ErrorKind::ConnectionReset));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_piece_does_not_wait_for_the_second() {
    let (sender, receiver) = mpsc::unbounded_channel::<Bytes>();
    let receiver = Arc::new(std::sync::Mutex::new(Some(receiver)));
    let server = start(Config::default(), move |_| {
        let mut receiver = receiver.lock().unwrap().take().unwrap();
        async move {
            Ok(stream_response(Made(
                move |cx: &mut std::task::Context<'_>| receiver.poll_recv(cx).map(|p| p.map(Ok)),
                None,
            )))
        }
    })
    .await;
    let mut client = server.connect().await;
    client.send(get("/events")).await;
    // The head comes before any piece.
    assert_eq!(client.head().await.status, 200);
    for n in 0..20 {
        let event = format!("data: {n}\n\n");
        sender.send(event.clone().into()).unwrap();
        assert_eq!(client.chunk().await.unwrap(), event.as_bytes());
    }
    drop(sender);
    assert_eq!(client.chunk().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn both_directions_flow_at_once() {
    let server = start(Config::default(), |request: Request| async move {
        let mut body = request.body;
        Ok(stream_response(Made(move |cx: &mut std::task::Context<'_>| body.poll_next(cx), None)))
    })
    .await;
    let mut client = server.connect().await;
    for round in 0..2 {
        client.send("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n").await;
        assert_eq!(client.head().await.status, 200);
        for n in 0..50 {
            let text = format!("{round} {n}");
            client.send(format!("{:x}\r\n{text}\r\n", text.len())).await;
            assert_eq!(client.chunk().await.unwrap(), text.as_bytes());
        }
        client.send("0\r\n\r\n").await;
        assert_eq!(client.chunk().await, None);
    }
}

/// 100 MB through an app that returns its request's body.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_echo_is_unchanged_and_never_buffered_whole() {
    const TOTAL: usize = 100_000_000;
    for chunked in [false, true] {
        let config = Config { max_body: ByteSize::mb(1000), ..Config::default() };
        let server = start(config, |request: Request| async move {
            Ok(hearth_core::Response { body: request.body, ..text_response("") })
        })
        .await;
        let client = server.connect().await;
        let (mut reads, mut writes) = client.stream.into_split();
        let sent = Arc::new(AtomicU64::new(0));
        let counter = sent.clone();
        let writer = tokio::spawn(async move {
            let framing =
                if chunked { "Transfer-Encoding: chunked".into() } else { format!("Content-Length: {TOTAL}") };
            writes.write_all(format!("POST / HTTP/1.1\r\nHost: h\r\n{framing}\r\n\r\n").as_bytes()).await.unwrap();
            for n in 0..1000u32 {
                let piece: Vec<u8> = (0..100_000u32).map(|i| (i.wrapping_mul(n + 7) >> 3) as u8).collect();
                counter.fetch_add(piece.len() as u64, SeqCst);
                if chunked {
                    writes.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await.unwrap();
                }
                writes.write_all(&piece).await.unwrap();
                if chunked {
                    writes.write_all(b"\r\n").await.unwrap();
                }
            }
            if chunked {
                writes.write_all(b"0\r\n\r\n").await.unwrap();
            }
            writes
        });
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(reads.read_u8().await.unwrap());
        }
        assert_eq!(chunked, String::from_utf8_lossy(&head).contains("transfer-encoding: chunked"));
        let mut decoder = hearth_gateway::parse::ChunkedDecoder::new(u64::MAX);
        let (mut buffer, mut received, mut ended) = (vec![0; 256 * 1024], 0usize, false);
        while !ended {
            let count = reads.read(&mut buffer).await.unwrap();
            assert!(count > 0, "the echo ended after {received}");
            let mut check = |data: &[u8]| {
                for byte in data {
                    let (n, i) = ((received / 100_000) as u32, (received % 100_000) as u32);
                    assert!(*byte == (i.wrapping_mul(n + 7) >> 3) as u8, "byte {received} differs");
                    received += 1;
                }
            };
            if chunked {
                let mut at = 0;
                loop {
                    match decoder.next(&buffer[..count], &mut at).unwrap() {
                        hearth_gateway::parse::ChunkEvent::Data(range) => check(&buffer[range]),
                        hearth_gateway::parse::ChunkEvent::More => break,
                        hearth_gateway::parse::ChunkEvent::End => {
                            ended = true;
                            break;
                        }
                    }
                }
            } else {
                check(&buffer[..count]);
                ended = received == TOTAL;
            }
            let inside = sent.load(SeqCst) - received as u64;
            assert!(inside < 90_000_000, "{inside} bytes are under way");
        }
        assert_eq!(received, TOTAL);
        writer.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_slowly_holds_back_the_app() {
    let made = Arc::new(AtomicU64::new(0));
    let counter = made.clone();
    let server = start(Config::default(), move |_| {
        let counter = counter.clone();
        let piece = Bytes::from(vec![b'x'; 10_000]);
        async move {
            let endless = move |_: &mut std::task::Context<'_>| {
                counter.fetch_add(piece.len() as u64, SeqCst);
                Poll::Ready(Some(Ok(piece.clone())))
            };
            Ok(stream_response(Made(endless, None)))
        }
    })
    .await;
    let mut client = server.connect().await;
    client.send(get("/")).await;
    let (mut buffer, mut read) = (vec![0; 64 * 1024], 0);
    while read < 50_000_000 {
        read += client.stream.read(&mut buffer).await.unwrap() as u64;
        tokio::task::yield_now().await;
        let waiting = made.load(SeqCst).saturating_sub(read);
        assert!(waiting < 45_000_000, "{waiting} bytes wait");
    }
    // An endless stream does not keep other connections waiting either.
    assert_eq!(server.connect().await.ask("BAD\r\n\r\n").await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_reads_is_dropped() {
    let (dropped, mut seen) = mpsc::unbounded_channel();
    let config = Config { write_timeout: Duration::from_millis(50), ..Config::default() };
    let server = start(config, move |_| {
        let guard = Guard(dropped.clone(), "stream");
        let piece = Bytes::from(vec![b'x'; 100_000]);
        async move {
            let endless = move |_: &mut std::task::Context<'_>| {
                let _held = &guard;
                Poll::Ready(Some(Ok(piece.clone())))
            };
            Ok(stream_response(Made(endless, None)))
        }
    })
    .await;
    let mut client = server.connect().await;
    client.send(get("/")).await;
    assert_eq!(seen.recv().await, Some("stream"));
    assert_eq!(server.stop().await.aborted, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn pipes_work_as_bodies() {
    let server = start(Config::default(), |_| async {
        let (writer, reader) = pipe(DEFAULT_CAPACITY, Some(300_000));
        tokio::spawn(async move {
            for _ in 0..30 {
                writer.ready().await;
                writer.write(Bytes::from(vec![b'p'; 10_000]));
            }
            writer.close();
        });
        Ok(stream_response(reader))
    })
    .await;
    let mut client = server.connect().await;
    for _ in 0..3 {
        assert_eq!(client.ask(get("/")).await.body, vec![b'p'; 300_000]);
    }
}
