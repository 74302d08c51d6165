//! Timeouts, the limit of connections, and the shutdown.

use std::sync::Arc;
use std::time::Duration;

use hearth_core::Request;
use hearth_gateway::Config;
use tokio::sync::{Notify, mpsc};

use crate::support::*;

const SHORT: Duration = Duration::from_millis(30);

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_takes_too_long_is_refused() {
    let server = start(Config { head_timeout: SHORT, ..Config::default() }, mirror).await;
    for start in ["G", "GET / HTTP/1.1\r\nHost: h\r\nX", "\r\n"] {
        let mut client = server.connect().await;
        let reply = client.ask(start).await;
        assert_eq!((reply.status, reply.header("connection")), (408, "close"), "{start:?}");
        client.assert_closed().await;
    }
    // Also after a request, and although bytes keep coming.
    let mut client = server.connect().await;
    assert_eq!(client.ask(get("/")).await.status, 200);
    client.send("GET / HTTP/1.1\r\n").await;
    let mut drip = tokio::time::interval(Duration::from_millis(5));
    let reply = loop {
        tokio::select! {
            reply = client.head() => break reply,
            _ = drip.tick() => {}
        }
        let _ = client.stream.try_write(b"X: y\r\n");
    };
    assert_eq!(reply.status, 408);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_is_closed_without_a_response() {
    let server = start(Config { keep_alive_timeout: SHORT, ..Config::default() }, mirror).await;
    let mut silent = server.connect().await;
    let mut client = server.connect().await;
    assert_eq!(client.ask(get("/")).await.status, 200);
    client.assert_closed().await;
    silent.assert_closed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_with_a_long_request_is_not_idle() {
    let config = Config { keep_alive_timeout: SHORT, head_timeout: SHORT, body_timeout: SHORT, ..Config::default() };
    let (release, released) = tokio::sync::watch::channel(false);
    let server = start(config, move |request| {
        let mut released = released.clone();
        async move {
            released.wait_for(|released| *released).await.unwrap();
            mirror(request).await
        }
    })
    .await;
    let (mut client, mut idle) = (server.connect().await, server.connect().await);
    client.send(get("/slow")).await;
    // All limits are over when this one is.
    idle.assert_closed().await;
    release.send(true).unwrap();
    assert_eq!(client.reply().await.text(), "GET http://h/slow ");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_beyond_the_limit_wait_for_requests_in_flight() {
    let (go, (events, mut seen)) = (Arc::new(Notify::new()), mpsc::unbounded_channel());
    let gate = go.clone();
    // A connection with a request in flight is not idle, however long it takes.
    let config = Config { max_connections: 1, evict_idle_after: Duration::ZERO, ..Config::default() };
    let server = start(config, move |request: Request| {
        let (gate, events) = (gate.clone(), events.clone());
        async move {
            events.send(request.url.clone()).unwrap();
            if request.url.ends_with("/first") {
                gate.notified().await;
            }
            mirror(request).await
        }
    })
    .await;
    let mut first = server.connect().await;
    first.send(get("/first")).await;
    assert_eq!(seen.recv().await.unwrap(), "http://h/first");
    let mut second = server.connect().await;
    second.send(get("/second")).await;
    // Long enough for several surveys of idle times.
    assert!(tokio::time::timeout(SHORT * 10, seen.recv()).await.is_err());
    go.notify_one();
    assert_eq!(first.reply().await.status, 200);
    assert_eq!(second.reply().await.status, 200);
    // The first was idle from then on, and another waited.
    first.assert_closed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_are_closed_for_waiting_clients() {
    let config = Config { max_connections: 3, evict_idle_after: SHORT, ..Config::default() };
    let server = start(config, mirror).await;
    let mut silent = [server.connect().await, server.connect().await];
    let mut begun = server.connect().await;
    begun.send("GET / HT").await;
    let mut held = Vec::new();
    for number in 1..=3 {
        let mut client = server.connect().await;
        assert_eq!(client.ask(get("/")).await.status, 200, "{number}");
        held.push(client);
    }
    // Each was closed while the next waited.
    for client in silent.iter_mut().chain([&mut begun]) {
        client.assert_closed().await;
    }
    assert!(server.stats.summary().connections_evicted >= 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_connection_is_closed_after_the_head_timeout() {
    let server = start(Config { head_timeout: SHORT, ..Config::default() }, mirror).await;
    let mut client = server.connect().await;
    assert_eq!(client.ask(get("/")).await.status, 200);
    server.connect().await.assert_closed().await;
    // One that has had a request may be idle.
    assert_eq!(client.ask(get("/")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_ends_idle_connections_and_lets_requests_finish() {
    let (go, (events, mut seen)) = (Arc::new(Notify::new()), mpsc::unbounded_channel());
    let gate = go.clone();
    let server = start(Config::default(), move |request: Request| {
        let (gate, events) = (gate.clone(), events.clone());
        async move {
            if request.url.ends_with("/slow") {
                events.send(()).unwrap();
                gate.notified().await;
            }
            mirror(request).await
        }
    })
    .await;
    let address = server.address;
    let (mut idle, mut fresh, mut busy) = (server.connect().await, server.connect().await, server.connect().await);
    let mut partial = server.connect().await;
    assert_eq!(idle.ask(get("/")).await.status, 200);
    assert_eq!(partial.ask(get("/")).await.status, 200);
    partial.send("GET /par").await;
    busy.send(get("/slow") + &get("/never")).await;
    seen.recv().await.unwrap();
    let stopping = server.begin_stop();
    idle.assert_closed().await;
    fresh.assert_closed().await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
    // A head that had begun is served, unless the drain saw the connection before its first byte.
    partial.send("tial HTTP/1.1\r\nHost: h\r\n\r\n").await;
    let answer = partial.rest().await;
    assert!(answer.is_empty() || answer.contains("connection: close"), "{answer}");
    go.notify_one();
    let reply = busy.reply().await;
    assert_eq!((reply.text(), reply.header("connection")), ("GET http://h/slow ", "close"));
    busy.assert_closed().await;
    let summary = stopping.await.unwrap();
    assert_eq!((summary.connections, summary.aborted), (4, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_outlive_the_drain_are_dropped() {
    let (events, mut seen) = mpsc::unbounded_channel();
    let server = start(Config { drain_timeout: SHORT, ..Config::default() }, move |_| {
        let events = events.clone();
        async move {
            events.send("began").unwrap();
            let _guard = Guard(events, "dropped");
            std::future::pending::<Answer>().await
        }
    })
    .await;
    let mut client = server.connect().await;
    client.send(get("/")).await;
    assert_eq!(seen.recv().await, Some("began"));
    let summary = server.stop().await;
    assert_eq!(seen.recv().await, Some("dropped"));
    assert_eq!((summary.served, summary.aborted), (0, 1));
    client.assert_closed().await;
}
