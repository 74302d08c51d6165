use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hearth_core::pipe::{DEFAULT_CAPACITY, pipe};
use hearth_core::{Body, BodyError};
use hearth_egress::FetchError;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::support::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn request_bodies_arrive_whole() {
    let server = Server::start(|seen| ok(&String::from_utf8_lossy(&seen.body))).await;
    let client = client(LOCAL);
    let big = "0123456789".repeat(100_000);
    for (body, sent, framing) in [
        (Body::Empty, "", ("content-length", "0")),
        (Body::Full(Bytes::from(big.clone())), big.as_str(), ("content-length", "1000000")),
        (pieces(&["ab", "c"], Some(3)), "abc", ("content-length", "3")),
        (pieces(&[], Some(0)), "", ("content-length", "0")),
        (pieces(&["ab", "c"], None), "abc", ("transfer-encoding", "chunked")),
        (pieces(&[], None), "", ("transfer-encoding", "chunked")),
    ] {
        assert_eq!(text(&client, request("POST", &server.url("/")).body(body)).await, sent);
        assert_eq!(server.last().header(framing.0), Some(framing.1));
    }
    assert_eq!(server.count(), 1, "one connection did for all");
}

#[tokio::test]
async fn a_piped_body_is_sent_while_it_is_written() {
    let mut server = Server::start(|seen| ok(&String::from_utf8_lossy(&seen.body))).await;
    let (writer, reader) = pipe(DEFAULT_CAPACITY, None);
    let outgoing = request("POST", &server.url("/")).body(Body::Stream(Box::new(reader)));
    let answer = tokio::spawn(async move { text(&client(LOCAL), outgoing).await });
    assert_eq!(server.heads.recv().await.unwrap(), "POST / HTTP/1.1");
    writer.write(Bytes::from_static(b"after the "));
    writer.write(Bytes::from_static(b"head"));
    writer.close();
    assert_eq!(answer.await.unwrap(), "after the head");
}

#[tokio::test]
async fn a_body_that_breaks_its_promise_or_fails_fails_the_request() {
    let server = Server::start(|_| ok("")).await;
    let client = client(LOCAL);
    let failing = Pieces { pieces: [Ok("x".into()), Err(BodyError::Failed("boom".into()))].into(), promise: None };
    for (body, error) in [
        (pieces(&["abc"], Some(2)), "longer"),
        (pieces(&["abc"], Some(4)), "shorter"),
        (Body::Stream(Box::new(failing)), "boom"),
    ] {
        let failed = client.send(request("POST", &server.url("/")).body(body)).await.unwrap_err();
        assert!(matches!(&failed, FetchError::Upload(_)), "{failed:?}");
        assert!(failed.to_string().contains(error), "{failed}");
    }
    assert_eq!(server.lines(), Vec::<String>::new(), "no such request was complete");
}

#[tokio::test]
async fn compressed_bodies_are_decoded_and_lose_the_headers_that_were_about_that() {
    let brotli = [0x0b, 0x02, 0x80, b'h', b'e', b'l', b'l', b'o', 0x03];
    let replies: [(&str, Vec<u8>); 2] = [("gzip", gzip(b"hello")), ("br", brotli.to_vec())];
    for (coding, bytes) in replies {
        let server = Server::start(move |_| Reply::Keep(encoded(coding, &bytes))).await;
        let client = client(LOCAL);
        let response = client.send(get(&server.url("/"))).await.unwrap().response;
        assert!(!response.headers.contains("content-encoding") && !response.headers.contains("content-length"));
        assert_eq!(response.body.length(), None);
        assert_eq!(response.body.collect().await.unwrap(), "hello", "{coding}");
        // Also where the app asked for it itself, and over the same connection.
        assert_eq!(text(&client, get(&server.url("/")).header("accept-encoding", coding)).await, "hello");
        assert_eq!(server.count(), 1);
    }
}

#[tokio::test]
async fn what_is_not_decoded_keeps_its_headers() {
    let server = Server::start(|seen| match seen.path() {
        "/zstd" => Reply::Keep(encoded("zstd", b"1234")),
        _ => reply("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 100\r\n\r\n"),
    })
    .await;
    let client = client(LOCAL);
    let response = client.send(get(&server.url("/zstd"))).await.unwrap().response;
    assert_eq!(response.headers.get("content-encoding"), Some(&b"zstd"[..]));
    assert_eq!(response.body.collect().await.unwrap(), "1234");
    let head = client.send(request("HEAD", &server.url("/"))).await.unwrap().response;
    assert_eq!(head.headers.get("content-encoding"), Some(&b"gzip"[..]));
    assert_eq!(head.headers.get("content-length"), Some(&b"100"[..]));
    assert!(head.body.is_empty());
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn null_bodies_are_empty_and_keep_the_connection() {
    let server = Server::start(|seen| match seen.path() {
        "/204" => reply("HTTP/1.1 204 No Content\r\n\r\n"),
        "/304" => reply("HTTP/1.1 304 Not Modified\r\ncontent-length: 7\r\netag: x\r\n\r\n"),
        _ => reply("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
    })
    .await;
    let client = client(LOCAL);
    for path in ["/204", "/304", "/chunked"] {
        assert_eq!(text(&client, get(&server.url(path))).await, "", "{path}");
    }
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn every_framing_is_read_to_its_end() {
    for answer in [Reply::Keep as fn(Vec<u8>) -> Reply, Reply::Close] {
        let server = Server::start(move |_| {
            answer(
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x\r\n\r\n\
                  3;ext=1\r\nabc\r\n1\r\nd\r\n0\r\nx: y\r\n\r\n"
                    .to_vec(),
            )
        })
        .await;
        assert_eq!(text(&client(LOCAL), get(&server.url("/"))).await, "abcd");
    }
    for version in ["1.0", "1.1"] {
        let server =
            Server::start(move |_| Reply::Close(format!("HTTP/{version} 200 OK\r\n\r\nto the end").into())).await;
        assert_eq!(text(&client(LOCAL), get(&server.url("/"))).await, "to the end");
    }
}

#[tokio::test]
async fn a_body_that_is_cut_off_says_so() {
    let mut cut_gzip = encoded("gzip", &gzip(b"hello hello"));
    cut_gzip.truncate(cut_gzip.len() - 3);
    let whole_but_short = encoded("gzip", &gzip(b"hello hello")[..20]);
    for answer in [
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345".to_vec(),
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n12345\r\n".to_vec(),
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n123".to_vec(),
        cut_gzip,
        whole_but_short,
    ] {
        let shown = String::from_utf8_lossy(&answer).into_owned();
        let server = Server::start(move |_| Reply::Close(answer.clone())).await;
        let response = client(LOCAL).send(get(&server.url("/"))).await.unwrap().response;
        assert_eq!(response.body.collect().await, Err(BodyError::Truncated), "{shown}");
    }
    let server = Server::start(|_| Reply::Keep(encoded("gzip", b"this is not gzip"))).await;
    let response = client(LOCAL).send(get(&server.url("/"))).await.unwrap().response;
    let error = response.body.collect().await.unwrap_err();
    assert_eq!(error.to_string(), "the gzip body cannot be decoded: it has no gzip header");
    let server = Server::start(|_| reply("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n")).await;
    let response = client(LOCAL).send(get(&server.url("/"))).await.unwrap().response;
    assert!(matches!(response.body.collect().await, Err(BodyError::Failed(_))));
}

#[tokio::test]
async fn the_first_piece_arrives_before_the_second_is_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (go, gone) = oneshot::channel::<()>();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n").await.unwrap();
        gone.await.unwrap();
        stream.write_all(b"6\r\nsecond\r\n0\r\n\r\n").await.unwrap();
    });
    let mut body = client(LOCAL).send(get(&url)).await.unwrap().response.body;
    assert_eq!(body.next().await.unwrap().unwrap(), "first");
    go.send(()).unwrap();
    assert_eq!(body.next().await.unwrap().unwrap(), "second");
    assert!(body.next().await.is_none());
}

/// A server that always has more to say is held back by an app that does not read.
#[tokio::test]
async fn a_slow_reader_holds_the_server_back() {
    const MAX_BYTES: usize = 256 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let written = Arc::<AtomicUsize>::default();
    let (stuck, is_stuck) = oneshot::channel();
    let count = written.clone();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        let piece = vec![b'x'; 64 * 1024];
        let mut stuck = Some(stuck);
        while count.load(Ordering::SeqCst) < MAX_BYTES {
            match tokio::time::timeout(std::time::Duration::from_secs(1), stream.writable()).await {
                Ok(_) => match stream.try_write(&piece) {
                    Ok(n) => drop(count.fetch_add(n, Ordering::SeqCst)),
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                    Err(_) => return,
                },
                // Nothing could be written for a whole second.
                Err(_) => drop(stuck.take().map(|stuck| stuck.send(()))),
            }
        }
    });
    let mut body = client(LOCAL).send(get(&url)).await.unwrap().response.body;
    is_stuck.await.expect("the server was held back before it had sent everything");
    assert!(written.load(Ordering::SeqCst) < MAX_BYTES / 4, "{written:?}");
    // What was held back goes on.
    let (mut read, enough) = (0, written.load(Ordering::SeqCst) + (1 << 20));
    while read < enough {
        let piece = body.next().await.unwrap().unwrap();
        assert!(piece.len() <= 64 * 1024);
        read += piece.len();
    }
}
