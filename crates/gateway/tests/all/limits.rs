//! Limits of clients and apps: connections, rates, bodies; and slow clients.

use std::time::Duration;

use hearth_core::{ByteSize, Request};
use hearth_gateway::{Config, Rate};

use crate::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn connections_per_client_are_limited() {
    let server = start(Config { max_connections_per_client: 2, ..Config::default() }, mirror).await;
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    assert_eq!(first.ask(get("/1")).await.status, 200);
    assert_eq!(second.ask(get("/2")).await.status, 200);
    server.connect().await.assert_closed().await;
    assert_eq!(server.stats.summary().connections_refused, 1);
    drop(first);
    // As soon as the server has noticed.
    loop {
        let mut third = server.connect().await;
        let _ = tokio::io::AsyncWriteExt::write_all(&mut third.stream, get("/3").as_bytes()).await;
        if third.fill().await.is_ok_and(|count| count > 0) {
            break;
        }
    }
    assert_eq!(second.ask(get("/2")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_of_trusted_proxies_are_not_limited() {
    let proxies = vec!["127.0.0.1".parse().unwrap()];
    let config = Config { max_connections_per_client: 1, trusted_proxies: proxies, ..Config::default() };
    let server = start(config, mirror).await;
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    assert_eq!(first.ask(get("/1")).await.status, 200);
    assert_eq!(second.ask(get("/2")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_request_rate_per_client_is_limited() {
    let config = Config {
        rate_limit: Some(Rate { requests: 3, per: Duration::from_secs(3600) }),
        trusted_proxies: vec!["127.0.0.1".parse().unwrap()],
        ..Config::default()
    };
    let server = start(config, mirror).await;
    let mut client = server.connect().await;
    let of = |address: &str| format!("GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: {address}\r\n\r\n");
    for _ in 0..3 {
        assert_eq!(client.ask(of("192.0.2.1")).await.status, 200);
    }
    let reply = client.ask(of("192.0.2.1")).await;
    assert_eq!((reply.status, reply.header("connection")), (429, ""));
    let seconds: u64 = reply.header("retry-after").parse().unwrap();
    assert!((1..=1200).contains(&seconds), "{seconds}");
    assert!(reply.text().contains(r#""code":"rate_limited""#));
    // Other clients are not limited, and the body of a rejected request is discarded.
    assert_eq!(client.ask(of("192.0.2.2")).await.status, 200);
    let refused = "POST / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 192.0.2.1\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(client.ask(refused).await.status, 429);
    assert_eq!(client.ask(of("192.0.2.2")).await.status, 200);
    let answers = server.stats.summary().answers;
    assert_eq!((answers.success, answers.client_error), (5, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_can_lower_the_body_limit() {
    let server = start(Config { max_body: ByteSize(100), ..Config::default() }, mirror).await;
    let post = |path: &str, size: usize| {
        format!("POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {size}\r\n\r\n{}", "x".repeat(size))
    };
    let mut client = server.connect().await;
    assert_eq!(client.ask(post("/at-most/10/", 10)).await.status, 200);
    assert_eq!(client.ask(post("/", 100)).await.status, 200);
    let reply = client.ask(post("/at-most/10/", 11)).await;
    assert_eq!((reply.status, reply.header("connection")), (413, "close"));
    assert!(reply.text().contains("limit of 10 bytes"), "{}", reply.text());
    // Not more than the server's, either.
    let mut client = server.connect().await;
    assert_eq!(client.ask(post("/at-most/1000/", 101)).await.status, 413);
    let chunked = "POST /at-most/4/ HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n";
    assert_eq!(server.connect().await.ask(chunked).await.status, 413);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_trickles_and_then_stalls_is_rejected() {
    let config = Config { body_timeout: Duration::from_millis(200), ..Config::default() };
    let server = start(config, mirror).await;
    let mut client = server.connect().await;
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n").await;
    for _ in 0..5 {
        // Rejected already, where this took too long.
        let _ = tokio::io::AsyncWriteExt::write_all(&mut client.stream, b"x").await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(client.reply().await.status, 408);
    client.assert_closed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trailers_are_tolerated_and_not_passed_on() {
    let server = start(Config::default(), |request: Request| async move {
        let names = request.headers.iter().map(|(n, _)| String::from_utf8_lossy(n).into_owned()).collect::<Vec<_>>();
        let body = request.body.collect().await.unwrap();
        Ok(text_response(format!("{} {}", String::from_utf8_lossy(&body), names.join(","))))
    })
    .await;
    let mut client = server.connect().await;
    for _ in 0..2 {
        let reply = client
            .ask("POST / HTTP/1.1\r\nHost: h\r\nTE: trailers\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\nHost: evil\r\n\r\n")
            .await;
        assert_eq!(reply.text(), "hello host,x-forwarded-for,x-forwarded-proto,x-request-id");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_can_be_read_while_the_server_runs() {
    let server = start(Config::default(), mirror).await;
    let mut client = server.connect().await;
    for n in 1..=3 {
        assert_eq!(client.ask(get("/")).await.status, 200);
        let summary = server.stats.summary();
        assert_eq!((summary.connections, summary.connections_open, summary.served), (1, 1, n));
    }
    assert_eq!(client.ask("GET nowhere HTTP/1.1\r\nHost: h\r\n\r\n").await.status, 400);
    client.assert_closed().await;
    let stats = server.stats.clone();
    let last = server.stop().await;
    assert_eq!((last.rejected, last.connections_open, last.answers.client_error), (1, 0, 1));
    assert_eq!(stats.summary(), last);
}
