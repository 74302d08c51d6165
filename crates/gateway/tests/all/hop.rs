//! Two gateways: one for clients, and one behind it that is reached over a Unix socket, as in another process.

use std::future::Future;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use hearth_core::pipe::{DEFAULT_CAPACITY, PipeWriter, pipe};
use hearth_core::websocket::{Close, Message, SocketEvent, socket_pair};
use hearth_core::{Body, BodyError, ByteSize, Failure, Headers, Request, Response};
use hearth_gateway::{Config, HOP_HEADER, Hop, HopError, Listener};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Notify, mpsc};

use crate::http2::{Client2, request};
use crate::support::*;

/// The limit for a response that must come.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// A socket for one test.
fn socket() -> (PathBuf, UnixListener) {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("hearth-hop-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    listener.set_nonblocking(true).unwrap();
    (path, listener)
}

/// The other process.
async fn back<F, Fut>(handler: F) -> (Running, PathBuf)
where
    F: Fn(Request) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Answer> + Send + 'static,
{
    let (path, listener) = socket();
    let listener = Listener::Hop(tokio::net::UnixListener::from_std(listener).unwrap());
    (start_at(Config::default().behind_hop(), listener, handler), path)
}

/// The gateway that passes all requests on.
async fn front(path: &Path, config: Config) -> Running {
    let hop = Arc::new(Hop::new(path));
    start(config, move |request| {
        let hop = hop.clone();
        async move {
            hop.send(request, "the directions", RESPONSE_TIMEOUT).await.map_err(|error| match error {
                HopError::InvalidResponse(error) => Failure::Internal { message: error.to_string() },
                _ => Failure::Cordoned { retry_after: Duration::from_secs(1) },
            })
        }
    })
    .await
}

/// All that an app can see of a request.
async fn describe(request: Request) -> Answer {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut lines = vec![format!("{} {} {:?}", request.method.as_str(), request.url, request.client.unwrap())];
    lines.extend(request.headers.iter().map(|(name, value)| format!("{}: {}", text(name), text(value))));
    let body = request.body.collect().await.map_err(|e| Failure::App { message: e.to_string() })?;
    lines.push(text(&body));
    Ok(text_response(lines.join("\n")))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_sees_the_same_request_through_a_hop() {
    let (_back, path) = back(describe).await;
    let server = front(&path, Config::default()).await;
    let mut client = server.connect().await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let extra = format!("X-Request-Id: mine\r\nTraceparent: {trace}\r\nX-Hearth-Hop: forged\r\nX-Base: /forged\r\n");
    for (framing, body) in [
        ("Content-Length: 5\r\n", "hello"),
        ("Content-Length: 0\r\n", ""),
        ("", ""),
        ("Transfer-Encoding: chunked\r\n", "3\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: t\r\n\r\n"),
    ] {
        let head = format!("POST /a//b?c=d%20e HTTP/1.1\r\nHost: shop.test:81\r\n{extra}{framing}");
        let reply = client.ask(format!("{head}\r\n{body}")).await;
        assert_eq!((reply.status, reply.header("x-request-id")), (200, "mine"));
        let text = reply.text();
        assert!(text.starts_with("POST http://shop.test:81/a//b?c=d%20e 127.0.0.1\n"), "{text}");
        for line in [
            "host: shop.test:81",
            "x-request-id: mine",
            "x-forwarded-for: 127.0.0.1",
            "x-forwarded-proto: http",
            &format!("traceparent: {trace}"),
            &format!("{HOP_HEADER}: the directions"),
        ] {
            assert_eq!(text.lines().filter(|other| *other == line).count(), 1, "{line:?} in {text}");
        }
        assert!(!text.contains("forged"), "{text}");
        assert_eq!(text.contains("content-length"), framing.starts_with('C'), "{text}");
        assert!(text.ends_with(if body.is_empty() { "\n" } else { "\nhello" }), "{text}");
    }
    let reply = server.all("GET /old HTTP/1.0\r\n\r\n").await;
    assert!(reply.contains("GET http://localhost/old 127.0.0.1\n"), "{reply}");
    let stars = client.ask("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").await;
    assert!(stars.text().starts_with("OPTIONS http://h 127.0.0.1\n"), "{}", stars.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn http_2_goes_through() {
    let (_back, path) = back(describe).await;
    let server = front(&path, Config::default()).await;
    let mut client = Client2::over(tokio::net::TcpStream::connect(server.address).await.unwrap()).await;
    for n in 0..10 {
        let reply = client.ask(request(&format!("/{n}")).header("x-request-id", "mine").header("cookie", "a=b")).await;
        assert_eq!((reply.status, reply.header("x-request-id")), (200, "mine"));
        assert!(reply.text().starts_with(&format!("GET http://h/{n} 127.0.0.1\n")), "{}", reply.text());
        assert!(reply.text().contains("\ncookie: a=b\n") && reply.text().contains("\nhost: h\n"), "{}", reply.text());
    }
    let many = (0..100).fold(request("/"), |request, n| request.header(format!("x-{n}"), "y"));
    assert_eq!(client.ask(many).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_head_passes_a_hop() {
    let (_back, path) = back(describe).await;
    let server = front(&path, Config::default()).await;
    let lines: String = (0..99).map(|n| format!("x-{n}: {}\r\n", "v".repeat(140))).collect();
    let reply = server.connect().await.ask(format!("GET / HTTP/1.1\r\nHost: h\r\n{lines}\r\n")).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(reply.text().contains("\nx-98: vvv"));
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_pass_a_hop_unchanged() {
    let (_back, path) = back(|request: Request| async move {
        let mut headers = Headers::new();
        headers.push(b"set-cookie", b"a=1");
        headers.push(b"set-cookie", b"b=2");
        headers.push(b"etag", b"\"e\"");
        let status = request.url.rsplit('/').next().unwrap().parse().unwrap();
        let body = if matches!(status, 204 | 304) { Body::Empty } else { Body::Full(Bytes::from("hello")) };
        let reason = (status == 299).then(|| "Just So".into());
        Ok(Response { status, reason, headers, body, websocket: None })
    })
    .await;
    let server = front(&path, Config::default()).await;
    let mut client = server.connect().await;
    for (method, path, body) in [
        ("GET", "/200", "hello"),
        ("GET", "/404", "hello"),
        ("GET", "/299", "hello"),
        ("GET", "/204", ""),
        ("GET", "/304", ""),
        ("HEAD", "/200", ""),
    ] {
        client.send(format!("{method} {path} HTTP/1.1\r\nHost: h\r\n\r\n")).await;
        let head = client.head().await;
        assert_eq!(format!("/{}", head.status), path);
        assert_eq!(head.headers.get_all("set-cookie").count(), 2);
        assert_eq!((head.header("etag"), head.headers.get_all("date").count()), ("\"e\"", 1));
        let length = if body.is_empty() && method == "GET" { "" } else { "5" };
        assert_eq!(head.header("content-length"), length, "{method} {path}");
        assert_eq!(client.exactly(body.len()).await, body.as_bytes());
    }
    assert!(server.all("GET /299 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").await.contains(" 299 Just So\r\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_become_responses_on_the_other_side() {
    let (_back, path) = back(|_| async { Err(Failure::Unauthorized) }).await;
    let server = front(&path, Config::default()).await;
    let mut client = server.connect().await;
    let reply = client.ask("GET / HTTP/1.1\r\nHost: h\r\nX-Request-Id: r-1\r\n\r\n").await;
    assert_eq!((reply.status, reply.header("www-authenticate")), (401, "Bearer"));
    assert!(reply.text().contains(r#""code":"unauthorized""#) && reply.text().contains(r#""request_id":"r-1""#));
    let reply = client.ask("GET / HTTP/1.1\r\nHost: h\r\nAccept: text/html\r\n\r\n").await;
    assert_eq!((reply.status, reply.header("content-type")), (401, "text/html; charset=utf-8"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_body_passes_both_ways() {
    const PIECES: usize = 256;
    let (_back, path) =
        back(|request: Request| async move { Ok(Response::new(200, Headers::new(), request.body)) }).await;
    let config = Config { max_body: ByteSize::mb(100), ..Config::default() };
    let server = front(&path, config).await;
    let piece = vec![b'x'; 64 * 1024];
    for framing in [format!("Content-Length: {}", PIECES * piece.len()), "Transfer-Encoding: chunked".to_owned()] {
        let client = server.connect().await;
        let (reads, mut writes) = client.stream.into_split();
        let chunked = framing.starts_with('T');
        let sent = piece.clone();
        let writer = tokio::spawn(async move {
            writes.write_all(format!("POST / HTTP/1.1\r\nHost: h\r\n{framing}\r\n\r\n").as_bytes()).await.unwrap();
            for _ in 0..PIECES {
                if chunked {
                    writes.write_all(format!("{:x}\r\n", sent.len()).as_bytes()).await.unwrap();
                }
                writes.write_all(&sent).await.unwrap();
                if chunked {
                    writes.write_all(b"\r\n").await.unwrap();
                }
            }
            if chunked {
                writes.write_all(b"0\r\n\r\n").await.unwrap();
            }
            writes
        });
        // Both bodies are handled at the same time: the app echoes, so waiting for one would block the other.
        let (mut reads, mut all, mut bytes) = (reads, Vec::new(), 0);
        while memchr::memmem::find(&all, b"\r\n\r\n").is_none() {
            assert!(reads.read_buf(&mut all).await.unwrap() > 0);
        }
        all.drain(..memchr::memmem::find(&all, b"\r\n\r\n").unwrap());
        loop {
            // The framing has no length.
            bytes += all.drain(..).filter(|byte| *byte == b'x').count();
            if bytes == PIECES * piece.len() {
                break;
            }
            assert!(reads.read_buf(&mut all).await.unwrap() > 0);
        }
        drop(writer.await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_bodies_stream_at_the_same_time() {
    let (_back, path) =
        back(|request: Request| async move { Ok(Response::new(200, Headers::new(), request.body)) }).await;
    let server = front(&path, Config::default()).await;
    let mut client = server.connect().await;
    client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    let mut begun = false;
    for word in ["one", "three", "five"] {
        client.send(format!("{:x}\r\n{word}\r\n", word.len())).await;
        if !std::mem::replace(&mut begun, true) {
            assert_eq!(client.head().await.header("transfer-encoding"), "chunked");
        }
        assert_eq!(client.chunk().await.unwrap(), word.as_bytes());
    }
    client.send("0\r\n\r\n").await;
    assert_eq!(client.chunk().await, None);
    assert_eq!(client.ask(get("/again")).await.status, 200, "the connection goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_waits_for_100_is_asked_for_the_body_only_when_the_app_wants_it() {
    let (_back, path) = back(|request: Request| async move {
        match request.url.ends_with("/read") {
            true => mirror(request).await,
            false => Ok(text_response("no, thanks")),
        }
    })
    .await;
    let server = front(&path, Config::default()).await;
    let expects =
        |path: &str| format!("POST {path} HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    let mut client = server.connect().await;
    client.send(expects("/read")).await;
    assert_eq!(client.until("\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(client.ask("hello").await.text(), "POST http://h/read hello");
    assert_eq!(client.ask(expects("/ignore")).await.text(), "no, thanks");
    client.assert_closed().await;
}

/// A handler that reports how it ends.
async fn watched() -> (Running, PathBuf, mpsc::UnboundedReceiver<&'static str>) {
    let (events, seen) = mpsc::unbounded_channel();
    let (running, path) = back(move |request: Request| {
        let events = events.clone();
        async move {
            events.send("began").unwrap();
            let guard = Guard(events, "dropped");
            if request.url.ends_with("/stream") {
                let mut first = Some(Bytes::from_static(b"first"));
                let stream = move |_: &mut std::task::Context<'_>| {
                    let _held = (&guard, &request);
                    first.take().map_or(Poll::Pending, |piece| Poll::Ready(Some(Ok(piece))))
                };
                return Ok(stream_response(Made(stream, None)));
            }
            std::future::pending::<Answer>().await
        }
    })
    .await;
    (running, path, seen)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_cancels_the_request_behind_the_hop() {
    let (_back, path, mut seen) = watched().await;
    let server = front(&path, Config::default()).await;
    for text in [get("/wait"), "POST /wait HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n123".to_owned()] {
        let mut client = server.connect().await;
        client.send(&text).await;
        assert_eq!(seen.recv().await, Some("began"));
        drop(client);
        assert_eq!(seen.recv().await, Some("dropped"), "{text:?}");
    }
    let mut client = server.connect().await;
    client.send(get("/stream")).await;
    client.head().await;
    assert_eq!(client.chunk().await.unwrap(), b"first", "at once, not when there is more");
    assert_eq!(seen.recv().await, Some("began"));
    drop(client);
    assert_eq!(seen.recv().await, Some("dropped"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_request_body_reaches_the_app_and_the_answer_goes_on() {
    let (_back, path) = back(|request: Request| async move {
        let (writer, reader) = pipe(DEFAULT_CAPACITY, None);
        tokio::spawn(report(request.body, writer));
        Ok(Response::new(200, Headers::new(), Body::Stream(Box::new(reader))))
    })
    .await;
    let server = front(&path, Config::default()).await;
    let mut client = server.connect().await;
    client.send("POST /at-most/8/ HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n").await;
    client.head().await;
    assert_eq!(client.chunk().await.unwrap(), b"3 bytes");
    client.send("9\r\nabcdefghi\r\n").await;
    assert_eq!(client.chunk().await.unwrap(), b"it failed");
    assert_eq!(client.chunk().await, None);
}

/// Reports the pieces of a body.
async fn report(mut body: Body, writer: PipeWriter) {
    loop {
        match body.next().await {
            Some(Ok(piece)) => writer.write(format!("{} bytes", piece.len()).into()),
            Some(Err(_)) => {
                writer.write(Bytes::from_static(b"it failed"));
                break;
            }
            None => break,
        };
    }
    writer.close();
}

/// A server that accepts one connection after the other, reads a request from each, writes `answer` and closes it. It ends when
/// the receiver of its reports is dropped.
fn dying(answer: &'static str) -> (PathBuf, mpsc::UnboundedReceiver<()>) {
    let (path, listener) = socket();
    let (closed, seen) = mpsc::unbounded_channel();
    let listener = tokio::net::UnixListener::from_std(listener).unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = tokio::select! {
                accepted = listener.accept() => accepted.unwrap(),
                () = closed.closed() => return,
            };
            let mut read = Vec::new();
            while !read.ends_with(b"\r\n\r\n") {
                assert!(stream.read_buf(&mut read).await.unwrap() > 0);
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
            drop(stream);
            closed.send(()).unwrap();
        }
    });
    (path, seen)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_crashes_fails_only_its_own_requests() {
    let (path, closed) = dying("");
    let server = front(&path, Config::default()).await;
    let mut client = server.connect().await;
    for _ in 0..2 {
        let reply = client.ask(get("/")).await;
        assert_eq!((reply.status, reply.header("retry-after")), (503, "1"));
        assert!(reply.text().contains(r#""code":"cordoned""#), "{}", reply.text());
    }
    drop(closed);
    while tokio::net::UnixStream::connect(&path).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(client.ask(get("/")).await.status, 503, "no process listens");

    let (path, _closed) = dying("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf");
    let server = front(&path, Config::default()).await;
    let text = server.all(get("/")).await;
    assert!(text.ends_with("\r\n\r\nhalf"), "{text}");

    let (path, _closed) = dying("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n");
    let server = front(&path, Config::default()).await;
    let text = server.all(get("/")).await;
    assert!(text.ends_with("half\r\n"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_connection_is_not_reused() {
    let (path, mut closed) = dying("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    let server = front(&path, Config::default()).await;
    let mut client = server.connect().await;
    // None of these may be sent on a connection that the other side has closed, whatever its method.
    for _ in 0..200 {
        let reply = client.ask("POST / HTTP/1.1\r\nHost: h\r\n\r\n").await;
        assert_eq!((reply.status, reply.text()), (200, "ok"));
        closed.recv().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draining_hop_serves_one_more_request() {
    let (path, listener) = socket();
    let listener = Listener::Hop(tokio::net::UnixListener::from_std(listener).unwrap());
    // Longer than any machine takes.
    let config = Config {
        keep_alive_timeout: RESPONSE_TIMEOUT,
        drain_timeout: RESPONSE_TIMEOUT,
        ..Config::default().behind_hop()
    };
    let back = start_at(config, listener, mirror);
    let mut stream = tokio::net::UnixStream::connect(&path).await.unwrap();
    let mut ask = async |path: &str| {
        stream.write_all(format!("GET http://h{path} HTTP/1.1\r\nhost: h\r\n\r\n").as_bytes()).await.unwrap();
        let (mut all, end) = (Vec::new(), format!("GET http://h{path} "));
        while !all.ends_with(end.as_bytes()) {
            assert!(stream.read_buf(&mut all).await.unwrap() > 0);
        }
        String::from_utf8(all).unwrap()
    };
    assert!(!ask("/1").await.contains("connection: close"));
    let stopping = back.begin_stop();
    // The listener is closed when the drain has begun.
    while tokio::net::UnixStream::connect(&path).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(ask("/2").await.contains("connection: close"));
    stopping.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn websockets_pass_in_both_directions() {
    let (_back, path) = back(|request: Request| async move {
        assert_eq!(request.headers.get("upgrade"), Some(&b"websocket"[..]));
        let (mut app, end) = socket_pair(Duration::ZERO);
        tokio::spawn(async move {
            while let Some(event) = app.receiver.next().await {
                match event {
                    SocketEvent::Message(message) => drop(app.sender.send(message)),
                    SocketEvent::Close(close) => app.sender.close(close),
                    SocketEvent::Failed(fault) => panic!("{fault}"),
                }
            }
        });
        let response = Response::new(101, Headers::new(), Body::Empty);
        Ok(Response { websocket: Some(Box::new(end)), ..response })
    })
    .await;
    let server = front(&path, Config::default()).await;
    let mut client = server.connect().await;
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";
    client.send(format!("GET /s HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: websocket\r\n{key}\r\n")).await;
    let head = client.head().await;
    assert_eq!((head.status, head.header("sec-websocket-accept")), (101, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    let Client { stream, buffer } = client;
    assert!(buffer.is_empty());
    let (mut here, end) = socket_pair(Duration::ZERO);
    let config = hearth_websocket::Config::default();
    let role = hearth_websocket::Role::Client;
    let connection = hearth_websocket::Connection::new(stream, Default::default(), role, Box::new(end), config);
    let running = tokio::spawn(connection.run());
    for message in [Message::Text("one".into()), Message::Binary(vec![7; 300_000].into())] {
        here.sender.send(message.clone());
        assert_eq!(here.receiver.next().await, Some(SocketEvent::Message(message)));
    }
    here.sender.close(Close::new(4001, "enough"));
    assert_eq!(here.receiver.next().await, Some(SocketEvent::Close(Close::new(4001, "enough"))));
    running.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn more_connections_than_the_accept_queue_are_answered() {
    let gate = Arc::new(Notify::new());
    let (open, count) = (gate.clone(), Arc::new(AtomicUsize::new(0)));
    let came = count.clone();
    let (_back, path) = back(move |request| {
        let (gate, count) = (gate.clone(), count.clone());
        async move {
            let opened = gate.notified();
            count.fetch_add(1, Ordering::SeqCst);
            opened.await;
            mirror(request).await
        }
    })
    .await;
    let hop = Arc::new(Hop::new(&path));
    let all: Vec<_> = (0..500)
        .map(|n| {
            let hop = hop.clone();
            tokio::spawn(async move {
                let request = Request::get(format!("http://h/{n}"));
                hop.send(request, "x", RESPONSE_TIMEOUT).await.unwrap().body.collect().await
            })
        })
        .collect();
    while came.load(Ordering::SeqCst) < all.len() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    open.notify_waiters();
    for (n, answer) in all.into_iter().enumerate() {
        assert_eq!(answer.await.unwrap(), Ok::<_, BodyError>(Bytes::from(format!("GET http://h/{n} "))));
    }
}
