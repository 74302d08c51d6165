//! Request bodies: limits, back-pressure, 100-continue, and bodies that the app does not read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use hearth_core::{Body, BodyError, ByteSize, Request};
use hearth_gateway::Config;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use crate::support::*;

fn post(path: &str, lines: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: h\r\n{lines}\r\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn small_bodies_that_came_with_the_head_are_not_streams() {
    let server = start(Config::default(), |request: Request| async move {
        let kind = match &request.body {
            Body::Empty => "empty",
            Body::Full(_) => "full",
            Body::Stream(_) => "stream",
        };
        let body = request.body.collect().await.unwrap();
        Ok(text_response(format!("{kind} {}", String::from_utf8_lossy(&body))))
    })
    .await;
    let mut client = server.connect().await;
    for (request, expected) in [
        (post("/", "Content-Length: 5\r\n") + "hello", "full hello"),
        (post("/", "Transfer-Encoding: chunked\r\n") + "3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", "full hello"),
        (post("/", "Transfer-Encoding: chunked\r\n") + "0\r\n\r\n", "empty "),
        (post("/", "Content-Length: 0\r\n"), "empty "),
        (post("/", ""), "empty "),
    ] {
        assert_eq!(client.ask(&request).await.text(), expected, "{request:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_beyond_the_limit_are_refused_before_they_are_read() {
    let config = Config { max_body: ByteSize(100), ..Config::default() };
    let server = start(config, mirror).await;
    let mut client = server.connect().await;
    let fits = post("/", "Content-Length: 100\r\n") + &"x".repeat(100);
    assert_eq!(client.ask(fits).await.status, 200);
    let fits = post("/", "Transfer-Encoding: chunked\r\n") + "64\r\n" + &"x".repeat(100) + "\r\n0\r\n\r\n";
    assert_eq!(client.ask(fits).await.status, 200);
    // The length alone is enough.
    let reply = client.ask(post("/", "Content-Length: 101\r\n")).await;
    assert_eq!((reply.status, reply.header("connection")), (413, "close"));
    assert!(reply.text().contains(r#""code":"body_too_large""#));
    client.assert_closed().await;
    // So is a chunk's size, also when the app waits for the body already.
    let mut client = server.connect().await;
    assert_eq!(client.ask(post("/", "Transfer-Encoding: chunked\r\n") + "65\r\n").await.status, 413);
    client.assert_closed().await;
    let mut client = server.connect().await;
    client.send(post("/", "Transfer-Encoding: chunked\r\n") + "63\r\n").await;
    client.send("x".repeat(99) + "\r\n").await;
    assert_eq!(client.ask("2\r\n").await.status, 413);
    client.assert_closed().await;
    // A client is not asked to send a body that will be rejected.
    let mut client = server.connect().await;
    assert_eq!(client.ask(post("/", "Content-Length: 101\r\nExpect: 100-continue\r\n")).await.status, 413);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_too_large_after_the_answer_began_fails_for_the_app() {
    let config = Config { max_body: ByteSize(10), ..Config::default() };
    let (errors, mut seen) = mpsc::unbounded_channel();
    let server = start(config, move |request: Request| {
        let errors = errors.clone();
        async move {
            let mut body = request.body;
            let poll = move |cx: &mut std::task::Context<'_>| {
                body.poll_next(cx).map(|next| match next {
                    Some(Err(error)) => {
                        errors.send(error).unwrap();
                        None
                    }
                    other => other,
                })
            };
            Ok(stream_response(Made(poll, None)))
        }
    })
    .await;
    let mut client = server.connect().await;
    client.send(post("/", "Transfer-Encoding: chunked\r\n") + "3\r\nabc\r\n").await;
    assert_eq!(client.head().await.status, 200);
    assert_eq!(client.chunk().await.unwrap(), b"abc");
    client.send("8\r\n").await;
    assert_eq!(client.chunk().await, None);
    assert_eq!(seen.recv().await, Some(BodyError::TooLarge { limit: 10 }));
    client.assert_closed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_waits_for_100_gets_it_when_the_app_reads() {
    let server = start(Config::default(), |request: Request| async move {
        match request.url.as_str() {
            "http://h/read" => mirror(request).await,
            "http://h/echo" => Ok(hearth_core::Response { body: request.body, ..text_response("") }),
            _ => Ok(text_response("no, thanks")),
        }
    })
    .await;
    let mut client = server.connect().await;
    client.send(post("/read", "Content-Length: 5\r\nExpect: 100-continue\r\n")).await;
    assert_eq!(client.until("\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(client.ask("hello").await.text(), "POST http://h/read hello");
    // A client that does not wait gets no 100.
    let reply = client.ask(post("/read", "Content-Length: 5\r\nExpect: 100-continue\r\n") + "hello").await;
    assert_eq!((reply.status, reply.text()), (200, "POST http://h/read hello"));
    // An app that reads only while it answers.
    client.send(post("/echo", "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n")).await;
    assert_eq!(client.until("\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(client.ask("5\r\nhello\r\n0\r\n\r\n").await.text(), "hello");
    // An app that does not read answers at once; whether the body will come is unknown, so the connection ends.
    let reply = client.ask(post("/skip", "Content-Length: 5\r\nExpect: 100-continue\r\n")).await;
    assert_eq!((reply.text(), reply.header("connection")), ("no, thanks", "close"));
    client.assert_closed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unread_body_is_discarded_or_ends_the_connection() {
    let server = start(Config::default(), |_| async { Ok(text_response("done")) }).await;
    let mut client = server.connect().await;
    // A short rest is discarded, and the connection is kept.
    client.send(post("/", "Content-Length: 50000\r\n")).await;
    assert_eq!(client.reply().await.header("connection"), "");
    client.send("x".repeat(50_000)).await;
    client.send(post("/", "Transfer-Encoding: chunked\r\n") + "5\r\n").await;
    assert_eq!(client.reply().await.header("connection"), "");
    client.send("hello\r\n0\r\n\r\n").await;
    // A long rest ends the connection.
    client.send(post("/", "Content-Length: 5000000\r\n")).await;
    let reply = client.reply().await;
    assert_eq!((reply.header("connection"), reply.text()), ("close", "done"));
    client.assert_closed().await;
    // So does a long rest of unknown length, after the answer.
    let mut client = server.connect().await;
    client.send(post("/", "Transfer-Encoding: chunked\r\n")).await;
    assert_eq!(client.reply().await.text(), "done");
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    while client.stream.write_all(chunk.as_bytes()).await.is_ok() {}
    client.assert_closed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_reads_slowly_holds_back_its_client() {
    let read = Arc::new(AtomicU64::new(0));
    let (step, counter) = (Arc::new(tokio::sync::Semaphore::new(0)), read.clone());
    let gate = step.clone();
    let config = Config { max_body: ByteSize::mb(1000), ..Config::default() };
    let server = start(config, move |request: Request| {
        let (gate, counter) = (gate.clone(), counter.clone());
        async move {
            let mut body = request.body;
            loop {
                gate.acquire().await.unwrap().forget();
                let Some(piece) = body.next().await else { break };
                counter.fetch_add(piece.unwrap().len() as u64, SeqCst);
            }
            Ok(text_response("done"))
        }
    })
    .await;
    let mut client = server.connect().await;
    const TOTAL: u64 = 100_000_000;
    client.send(post("/", &format!("Content-Length: {TOTAL}\r\n"))).await;
    let piece = vec![b'x'; 100_000];
    let mut sent = 0;
    while sent < TOTAL {
        // Whenever the client is held back, the app takes one more piece.
        tokio::select! {
            biased;
            result = client.stream.write_all(&piece) => { result.unwrap(); sent += piece.len() as u64; }
            () = async { loop { step.add_permits(1); tokio::task::yield_now().await; } } => {}
        }
        // Kernel buffers (tens of megabytes, on some machines), the pipe and one read: never all of the body.
        let waiting = sent.saturating_sub(read.load(SeqCst));
        assert!(waiting < 60_000_000, "{waiting} bytes wait");
    }
    step.add_permits(1_000_000);
    assert_eq!(client.reply().await.text(), "done");
    assert_eq!(read.load(SeqCst), TOTAL);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_stalls_times_out() {
    let config = Config { body_timeout: Duration::from_millis(30), ..Config::default() };
    let server = start(config, mirror).await;
    let mut client = server.connect().await;
    let reply = client.ask(post("/", "Content-Length: 10\r\n") + "hello").await;
    assert_eq!((reply.status, reply.header("connection")), (408, "close"));
    client.assert_closed().await;
    let mut client = server.connect().await;
    assert_eq!(client.ask(post("/", "Transfer-Encoding: chunked\r\n") + "5\r\nhe").await.status, 408);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_body_is_never_complete() {
    let (results, mut seen) = mpsc::unbounded_channel();
    let server = start(Config::default(), move |request: Request| {
        let results = results.clone();
        async move {
            // On a task of its own, so that it outlives the request.
            tokio::spawn(async move { results.send(request.body.collect().await).unwrap() });
            std::future::pending::<Answer>().await
        }
    })
    .await;
    for text in [
        post("/", "Content-Length: 10\r\n") + "hello",
        post("/", "Transfer-Encoding: chunked\r\n") + "5\r\nhello\r\n",
        post("/", "Transfer-Encoding: chunked\r\n") + "5\r\nhello\r\n0\r\n",
    ] {
        let mut client = server.connect().await;
        client.send(&text).await;
        client.stream.shutdown().await.unwrap();
        assert_eq!(seen.recv().await.unwrap(), Err(BodyError::Truncated), "{text:?}");
        client.assert_closed().await;
    }
}
