//! Bodies: flow control both ways, limits, 100-continue.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use h2::Reason;
use hearth_core::{ByteSize, Request};
use hearth_gateway::Config;
use tokio::sync::{Semaphore, mpsc};

use crate::http2::{Client2, SHORT, next, post, reply, request, send};
use crate::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn bodies_flow_both_ways_at_once() {
    let server = start(Config::default(), |request: Request| async move {
        Ok(hearth_core::Response { body: request.body, ..text_response("") })
    })
    .await;
    let mut client = Client2::connect(&server).await;
    let (response, mut up) = client.open(post("/echo")).await;
    let mut down = response.await.unwrap().into_body();
    for n in 0..50 {
        let text = format!("piece {n}");
        up.send_data(text.clone().into(), false).unwrap();
        assert_eq!(next(&mut down).await.unwrap().unwrap(), text);
    }
    up.send_data(Bytes::new(), true).unwrap();
    assert!(next(&mut down).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_echo_arrives_unchanged() {
    const TOTAL: usize = 5_000_000;
    let server = start(Config::default(), |request: Request| async move {
        Ok(hearth_core::Response { body: request.body, ..text_response("") })
    })
    .await;
    let mut client = Client2::connect(&server).await;
    let big: Bytes = (0..TOTAL as u32).map(|n| (n.wrapping_mul(7) >> 3) as u8).collect::<Vec<_>>().into();
    let (response, mut up) = client.open(post("/echo").header("content-length", TOTAL)).await;
    let all = big.clone();
    let sending = tokio::spawn(async move {
        send(&mut up, all).await;
        up.send_data(Bytes::new(), true).unwrap();
    });
    let reply = reply(response.await.unwrap()).await;
    sending.await.unwrap();
    assert_eq!(reply.header("content-length"), TOTAL.to_string());
    assert!(reply.body == big);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_does_not_read_holds_back_its_client_alone() {
    let (go, gate) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (wait, counter) = (go.clone(), gate.clone());
    let server = start(Config::default(), move |request: Request| {
        let (wait, counter) = (wait.clone(), counter.clone());
        async move {
            if request.url.ends_with("/slow") {
                counter.add_permits(1);
                let _go = wait.acquire().await.unwrap();
                let length = request.body.collect().await.unwrap().len();
                return Ok(text_response(length.to_string()));
            }
            mirror(request).await
        }
    })
    .await;
    let mut client = Client2::connect(&server).await;
    let (response, mut up) = client.open(post("/slow")).await;
    gate.acquire().await.unwrap().forget();
    // The client has as much room as the app's pipe and one window, however long it tries.
    let mut sent = 0;
    loop {
        up.reserve_capacity(16_384);
        let room = tokio::time::timeout(Duration::from_millis(500), async {
            while up.capacity() == 0 {
                std::future::poll_fn(|cx| up.poll_capacity(cx)).await.unwrap().unwrap();
            }
        });
        if room.await.is_err() {
            break;
        }
        let count = up.capacity();
        up.send_data(vec![b'x'; count].into(), false).unwrap();
        sent += count;
        assert!(sent < 1_000_000, "{sent} bytes were taken");
    }
    // Other streams go on.
    assert_eq!(client.ask(request("/quick")).await.status, 200);
    go.add_permits(1);
    send(&mut up, vec![b'x'; 300_000].into()).await;
    up.send_data(Bytes::new(), true).unwrap();
    assert_eq!(reply(response.await.unwrap()).await.text(), (sent + 300_000).to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_holds_back_the_app() {
    let made = Arc::new(AtomicUsize::new(0));
    let counter = made.clone();
    let server = start(Config { write_timeout: Duration::from_millis(300), ..Config::default() }, move |_| {
        let counter = counter.clone();
        let endless = move |_: &mut std::task::Context<'_>| {
            counter.fetch_add(10_000, SeqCst);
            Poll::Ready(Some(Ok(Bytes::from(vec![0; 10_000]))))
        };
        async move { Ok(stream_response(Made(endless, None))) }
    })
    .await;
    let mut client = Client2::connect(&server).await;
    let mut body = client.begin(request("/")).await.await.unwrap().into_body();
    // The client's window is 64 KB and never grows: the client is dropped.
    let error = loop {
        match body.data().await {
            Some(Ok(_)) => {}
            Some(Err(error)) => break error,
            None => panic!("an endless body has ended"),
        }
    };
    assert!(error.is_reset(), "{error}");
    assert!(made.load(SeqCst) < 1_000_000, "{} bytes were made", made.load(SeqCst));
    assert_eq!(server.stop().await.aborted, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_limited_in_size() {
    let server = start(Config { max_body: ByteSize(100), ..Config::default() }, mirror).await;
    let mut client = Client2::connect(&server).await;
    let (response, _up) = client.open(post("/").header("content-length", 101)).await;
    let refused = reply(response.await.unwrap()).await;
    assert_eq!((refused.status, refused.text().contains("body_too_large")), (413, true));
    let (response, mut up) = client.open(post("/")).await;
    up.send_data(vec![b'x'; 101].into(), false).unwrap();
    assert_eq!(reply(response.await.unwrap()).await.status, 413);
    let (response, mut up) = client.open(post("/at-most/10/")).await;
    up.send_data(vec![b'x'; 11].into(), true).unwrap();
    assert_eq!(reply(response.await.unwrap()).await.status, 413);
    let (response, mut up) = client.open(post("/")).await;
    up.send_data(vec![b'x'; 100].into(), true).unwrap();
    assert_eq!(reply(response.await.unwrap()).await.body.len(), 14 + 1 + 100);
    let summary = server.stop().await;
    assert_eq!((summary.served, summary.rejected), (1, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_stalls_times_out() {
    let server = start(Config { body_timeout: SHORT, ..Config::default() }, mirror).await;
    let mut client = Client2::connect(&server).await;
    let (response, _up) = client.open(post("/")).await;
    assert_eq!(reply(response.await.unwrap()).await.status, 408);
    assert_eq!(client.ask(request("/")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_another_length_is_never_complete() {
    let (results, mut seen) = mpsc::unbounded_channel();
    let server = start(Config::default(), move |request: Request| {
        let results = results.clone();
        async move {
            tokio::spawn(async move { results.send(request.body.collect().await.is_ok()).unwrap() });
            std::future::pending::<Answer>().await
        }
    })
    .await;
    for length in ["3", "7"] {
        let mut client = Client2::connect(&server).await;
        let (response, mut up) = client.open(post("/").header("content-length", length)).await;
        up.send_data(Bytes::from_static(b"12345"), true).unwrap();
        assert_eq!(response.await.unwrap_err().reason(), Some(Reason::PROTOCOL_ERROR));
        assert_eq!(seen.recv().await, Some(false));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_waits_for_100_gets_it_when_the_app_reads() {
    let server = start(Config::default(), mirror).await;
    let mut client = Client2::connect(&server).await;
    let (mut response, mut up) = client.open(post("/").header("expect", "100-continue")).await;
    let interim = std::future::poll_fn(|cx| response.poll_informational(cx)).await.unwrap().unwrap();
    assert_eq!(interim.status().as_u16(), 100);
    up.send_data(Bytes::from_static(b"hello"), true).unwrap();
    assert_eq!(reply(response.await.unwrap()).await.text(), "POST http://h/ hello");
}
