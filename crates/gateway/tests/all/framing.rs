//! Input that must not be served: request smuggling, floods, garbage.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use hearth_gateway::Config;

use crate::support::*;

/// Sends `text` and a request behind it; asserts the status, that nothing else was answered, and that the connection
/// ended.
async fn refused(server: &Running, text: &str, status: u16) {
    let answer = server.all(format!("{text}GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n")).await;
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{text:?}: {answer}");
    assert_eq!(answer.matches("x-request-id: ").count(), 1, "{text:?}: {answer}");
    assert!(answer.contains("\r\nconnection: close\r\n") && answer.contains("\r\nx-request-id: "), "{answer}");
    assert!(answer.contains(r#"{"error":{"code":""#), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ambiguous_requests_end_the_connection() {
    let seen = Arc::new(AtomicUsize::new(0));
    let counter = seen.clone();
    let server = start(Config::default(), move |request| {
        counter.fetch_add(1, SeqCst);
        mirror(request)
    })
    .await;
    for (lines, status) in [
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400),
        ("Transfer-Encoding: chunked, gzip\r\n", 400),
        ("Transfer-Encoding: identity\r\n", 400),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n", 400),
        ("Transfer-Encoding: chunked, chunked\r\n", 400),
        ("Transfer-Encoding: xchunked\r\n", 400),
        ("Transfer-Encoding:\u{b}chunked\r\n", 400),
        ("Transfer-Encoding: \r\n chunked\r\n", 400),
        ("Transfer-Encoding : chunked\r\n", 400),
        ("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", 400),
        ("Content-Length: -1\r\n", 400),
        ("Content-Length: 0x5\r\n", 400),
        ("Content-Length: 5 5\r\n", 400),
        ("Content-Length:\r\n", 400),
        ("Content-Length: 5\r\nContent-Length: 05\r\n", 400),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", 400),
        ("Content-Length: 5,5\r\n", 400),
        ("Host: again\r\n", 400),
        ("X: a\r\n folded\r\n", 400),
        ("X : a\r\n", 400),
        ("X: a\rb\r\n", 400),
        ("X: a\n", 400),
    ] {
        refused(&server, &format!("POST / HTTP/1.1\r\nHost: h\r\n{lines}\r\n"), status).await;
    }
    refused(&server, "GET / HTTP/1.1\r\n\r\n", 400).await;
    refused(&server, "GET nowhere HTTP/1.1\r\nHost: h\r\n\r\n", 400).await;
    refused(&server, "CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", 501).await;
    refused(&server, "GET / HTTP/3.0\r\nHost: h\r\n\r\n", 505).await;
    refused(&server, "\u{16}\u{3}\u{1}\u{2}\0\u{1}\r\n", 400).await;
    assert_eq!(seen.load(SeqCst), 0);
    let summary = server.stop().await;
    assert_eq!((summary.served, summary.rejected), (0, 28));
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_chunks_are_refused_even_when_the_app_waits_for_them() {
    let server = start(Config::default(), mirror).await;
    let head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
    for chunks in ["5\nhello", "x\r\n", "5\r\nhelloX", "5 \r\n", "-1\r\n", "10000000000000000\r\n", "0\r\n bad: x\r\n"]
    {
        refused(&server, &format!("{head}{chunks}"), 400).await;
        // And in the middle of a body.
        let mut client = server.connect().await;
        client.send(format!("{head}3\r\nabc\r\n")).await;
        client.send(chunks).await;
        let reply = client.reply().await;
        assert_eq!(reply.status, 400, "{chunks:?}");
        client.assert_closed().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_heads_are_refused() {
    let server = start(Config::default(), mirror).await;
    let mut client = server.connect().await;
    let fits = format!("GET / HTTP/1.1\r\nHost: h\r\nX: {}\r\n\r\n", "x".repeat(16_000));
    assert_eq!(client.ask(fits).await.status, 200);
    refused(&server, &format!("GET / HTTP/1.1\r\nHost: h\r\nX: {}\r\n\r\n", "x".repeat(20_000)), 431).await;
    refused(&server, &format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", "x".repeat(20_000)), 431).await;
    refused(&server, &format!("GET / HTTP/1.1\r\nHost: h\r\n{}\r\n", "X: y\r\n".repeat(100)), 431).await;
    let many = format!("GET / HTTP/1.1\r\nHost: h\r\n{}\r\n", "X: y\r\n".repeat(99));
    assert_eq!(client.ask(many).await.status, 200);
    // A head that never ends: the answer comes although the client keeps sending.
    let mut flood = server.connect().await;
    flood.send("GET / HTTP/1.1\r\nHost: h\r\n").await;
    let line = "X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n".repeat(10);
    for _ in 0..50 {
        if tokio::io::AsyncWriteExt::write_all(&mut flood.stream, line.as_bytes()).await.is_err() {
            break;
        }
    }
    assert_eq!(flood.reply().await.status, 431);
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_is_answered_or_dropped_and_harmless() {
    let server = start(Config::default(), mirror).await;
    let mut other = server.connect().await;
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    for round in 0..200 {
        let garbage: Vec<u8> = (0..round * 7 % 900 + 1)
            .map(|_| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                random as u8
            })
            .collect();
        let mut client = server.connect().await;
        client.send(garbage).await;
        tokio::io::AsyncWriteExt::shutdown(&mut client.stream).await.unwrap();
        let answer = client.rest().await;
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.1 505"),
            "{answer}"
        );
    }
    assert_eq!(other.ask(get("/")).await.status, 200);
}
