//! Clients that disconnect, and handlers that panic.

use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use hearth_core::Request;
use hearth_gateway::{Config, HalfClose};
use tokio::io::AsyncWriteExt;
use tokio::sync::{Notify, mpsc};

use crate::support::*;

/// A handler that never answers, and reports when it is dropped.
async fn hanging(config: Config) -> (Running, mpsc::UnboundedReceiver<&'static str>) {
    let (events, seen) = mpsc::unbounded_channel();
    let server = start(config, move |request: Request| {
        let events = events.clone();
        async move {
            events.send("began").unwrap();
            let _guard = Guard(events, "dropped");
            let _body = request.body;
            std::future::pending::<Answer>().await
        }
    })
    .await;
    (server, seen)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_cancels_its_request() {
    let requests = [
        get("/"),
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n123".to_owned(),
        // With the start of another request behind it.
        get("/") + "GET /next HTTP/1.1\r\n",
    ];
    for text in requests {
        for reset in [false, true] {
            let (server, mut seen) = hanging(Config::default()).await;
            let mut client = server.connect().await;
            client.send(&text).await;
            assert_eq!(seen.recv().await, Some("began"));
            if reset {
                client.stream.set_zero_linger().unwrap();
            }
            drop(client);
            assert_eq!(seen.recv().await, Some("dropped"), "{text:?}");
            assert_eq!(server.stop().await.aborted, 1);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_half_close_is_a_disconnect_unless_it_is_allowed() {
    let (server, mut seen) = hanging(Config::default()).await;
    let mut client = server.connect().await;
    client.send(get("/")).await;
    assert_eq!(seen.recv().await, Some("began"));
    client.stream.shutdown().await.unwrap();
    assert_eq!(seen.recv().await, Some("dropped"));
    client.assert_closed().await;

    let (go, config) = (Arc::new(Notify::new()), Config { half_close: HalfClose::Allowed, ..Config::default() });
    let gate = go.clone();
    let server = start(config, move |request| {
        let gate = gate.clone();
        async move {
            gate.notified().await;
            mirror(request).await
        }
    })
    .await;
    let mut client = server.connect().await;
    client.send(get("/1") + &get("/2")).await;
    client.stream.shutdown().await.unwrap();
    go.notify_one();
    assert_eq!(client.reply().await.text(), "GET http://h/1 ");
    go.notify_one();
    assert_eq!(client.reply().await.text(), "GET http://h/2 ");
    client.assert_closed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_ends_the_stream() {
    let (events, mut seen) = mpsc::unbounded_channel();
    let server = start(Config::default(), move |_| {
        let events = events.clone();
        async move {
            let guard = Guard(events, "dropped");
            let mut first = Some(Bytes::from_static(b"first"));
            let stream = move |_: &mut std::task::Context<'_>| {
                let _held = &guard;
                first.take().map_or(Poll::Pending, |piece| Poll::Ready(Some(Ok(piece))))
            };
            Ok(stream_response(Made(stream, None)))
        }
    })
    .await;
    let mut client = server.connect().await;
    client.send(get("/")).await;
    client.head().await;
    assert_eq!(client.chunk().await.unwrap(), b"first");
    drop(client);
    assert_eq!(seen.recv().await, Some("dropped"));
    assert_eq!(server.stop().await.aborted, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_ends_one_connection_only() {
    let server = start(Config::default(), |request: Request| async move {
        assert!(!request.url.ends_with("/panic"), "as the test wants");
        mirror(request).await
    })
    .await;
    let mut other = server.connect().await;
    assert_eq!(other.ask(get("/1")).await.status, 200);
    assert_eq!(server.all(get("/panic")).await, "");
    assert_eq!(other.ask(get("/2")).await.status, 200);
    drop(other);
    let summary = server.stop().await;
    assert_eq!((summary.served, summary.aborted), (2, 1));
}
