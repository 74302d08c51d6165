//! Cancelling, idle connections, the limit of streams, and the shutdown.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use h2::Reason;
use hearth_core::Request;
use hearth_gateway::Config;
use tokio::sync::{Notify, mpsc};

use crate::http2::{Client2, SHORT, next, post, reply, request};
use crate::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_cancels_only_its_request() {
    let (events, mut seen) = mpsc::unbounded_channel();
    let server = start(Config::default(), move |request: Request| {
        let events = events.clone();
        async move {
            match request.url.as_str() {
                "http://h/hang" => {
                    events.send("began").unwrap();
                    let _guard = Guard(events, "dropped");
                    std::future::pending::<Answer>().await
                }
                "http://h/stream" => {
                    let (guard, mut first) = (Guard(events, "stream dropped"), Some(Bytes::from_static(b"first")));
                    Ok(stream_response(Made(
                        move |_: &mut std::task::Context<'_>| {
                            let _held = &guard;
                            first.take().map_or(Poll::Pending, |piece| Poll::Ready(Some(Ok(piece))))
                        },
                        None,
                    )))
                }
                _ => mirror(request).await,
            }
        }
    })
    .await;
    let mut client = Client2::connect(&server).await;
    for with_body in [false, true] {
        let (response, mut up) = client.open(post("/hang")).await;
        if !with_body {
            up.send_data(Bytes::new(), true).unwrap();
        }
        assert_eq!(seen.recv().await, Some("began"));
        up.send_reset(Reason::CANCEL);
        assert_eq!(seen.recv().await, Some("dropped"));
        drop(response);
    }
    let mut body = client.begin(request("/stream")).await.await.unwrap().into_body();
    assert_eq!(next(&mut body).await.unwrap().unwrap(), "first");
    drop(body);
    assert_eq!(seen.recv().await, Some("stream dropped"));
    assert_eq!(client.ask(request("/")).await.status, 200);
    // So does the end of the connection.
    let hanging = client.begin(request("/hang")).await;
    assert_eq!(seen.recv().await, Some("began"));
    client.connection.abort();
    drop((client, hanging));
    assert_eq!(seen.recv().await, Some("dropped"));
    let summary = server.stop().await;
    assert_eq!((summary.served, summary.aborted), (1, 4));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_streams_are_limited() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counter, highest) = (now.clone(), most.clone());
    let server = start(Config { max_streams: 3, ..Config::default() }, move |request| {
        let (counter, highest) = (counter.clone(), highest.clone());
        async move {
            highest.fetch_max(counter.fetch_add(1, SeqCst) + 1, SeqCst);
            tokio::time::sleep(Duration::from_millis(2)).await;
            counter.fetch_sub(1, SeqCst);
            mirror(request).await
        }
    })
    .await;
    let mut client = Client2::connect(&server).await;
    // The limit is known after the first answer.
    assert_eq!(client.ask(request("/")).await.status, 200);
    let mut asking = Vec::new();
    for _ in 0..20 {
        let response = client.begin(request("/")).await;
        asking.push(tokio::spawn(async move { reply(response.await.unwrap()).await.status }));
    }
    for status in asking {
        assert_eq!(status.await.unwrap(), 200);
    }
    assert!((1..=3).contains(&most.load(SeqCst)), "{}", most.load(SeqCst));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_is_closed() {
    let server = start(Config { keep_alive_timeout: Duration::from_secs(2), ..Config::default() }, mirror).await;
    let mut client = Client2::connect(&server).await;
    assert_eq!(client.ask(request("/")).await.status, 200);
    client.connection.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_lets_streams_finish() {
    let (go, (events, mut seen)) = (Arc::new(Notify::new()), mpsc::unbounded_channel());
    let gate = go.clone();
    let server = start(Config::default(), move |request: Request| {
        let (gate, events) = (gate.clone(), events.clone());
        async move {
            events.send(()).unwrap();
            gate.notified().await;
            mirror(request).await
        }
    })
    .await;
    let (mut busy, idle) = (Client2::connect(&server).await, Client2::connect(&server).await);
    let response = busy.begin(request("/slow")).await;
    seen.recv().await.unwrap();
    let stopping = server.begin_stop();
    idle.connection.await.unwrap().unwrap();
    go.notify_one();
    assert_eq!(reply(response.await.unwrap()).await.text(), "GET http://h/slow ");
    busy.connection.await.unwrap().unwrap();
    let summary = stopping.await.unwrap();
    assert_eq!((summary.served, summary.aborted), (1, 0));
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
    let mut client = Client2::connect(&server).await;
    let response = client.begin(request("/")).await;
    assert_eq!(seen.recv().await, Some("began"));
    assert_eq!(server.stop().await.aborted, 1);
    assert_eq!(seen.recv().await, Some("dropped"));
    assert!(response.await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_connection_is_closed_after_the_head_timeout() {
    let server = start(Config { head_timeout: Duration::from_secs(2), ..Config::default() }, mirror).await;
    let mut client = Client2::connect(&server).await;
    assert_eq!(client.ask(request("/")).await.status, 200);
    Client2::connect(&server).await.connection.await.unwrap().unwrap();
    assert_eq!(client.ask(request("/")).await.status, 200);
}
