use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hearth_core::Body;
use hearth_core::pipe::pipe;
use hearth_egress::{Config, FetchError};

use crate::support::*;

#[tokio::test]
async fn a_connection_serves_one_request_after_the_other() {
    let server = Server::start(|seen| ok(seen.path())).await;
    let client = client(LOCAL);
    for path in ["/1", "/2", "/3"] {
        assert_eq!(text(&client, get(&server.url(path))).await, path);
    }
    assert_eq!(server.count(), 1);
    // Another client shares nothing, even with the same policy.
    text(&self::client(LOCAL), get(&server.url("/"))).await;
    assert_eq!(server.count(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn reuse_holds_on_many_threads() {
    let server = Server::start(|seen| ok(seen.path())).await;
    let client = client(LOCAL);
    for _ in 0..500 {
        assert_eq!(text(&client, get(&server.url("/x"))).await, "/x");
    }
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn a_server_that_wants_to_close_is_not_asked_again() {
    let server =
        Server::start(|_| Reply::Close(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 1\r\n\r\nx".to_vec()))
            .await;
    let client = client(LOCAL);
    for _ in 0..3 {
        assert_eq!(text(&client, get(&server.url("/"))).await, "x");
    }
    assert_eq!(server.count(), 3);
}

/// The server promised to stay and left: whether we see that before we send or after, the app does not.
#[tokio::test]
async fn a_stale_connection_is_replaced() {
    for _ in 0..50 {
        let server = Server::start(|_| Reply::Close(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx".to_vec())).await;
        let client = client(LOCAL);
        for _ in 0..3 {
            assert_eq!(text(&client, get(&server.url("/"))).await, "x");
        }
    }
}

/// The server takes the second request of each connection and leaves without an answer.
#[tokio::test]
async fn a_request_that_may_have_been_done_is_repeated_only_where_that_is_harmless() {
    let served = Arc::<AtomicUsize>::default();
    let count = served.clone();
    let server = Server::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        1 => Reply::Close(Vec::new()),
        _ => ok("x"),
    })
    .await;
    for (method, repeated) in
        [("GET", true), ("HEAD", true), ("PUT", true), ("DELETE", true), ("POST", false), ("PATCH", false)]
    {
        served.store(0, Ordering::SeqCst);
        let client = client(LOCAL);
        text(&client, get(&server.url("/"))).await;
        let second = client.send(request(method, &server.url("/")).body(bytes::Bytes::from_static(b"b"))).await;
        match second {
            Ok(_) => assert!(repeated, "{method}"),
            Err(error) => assert!(!repeated && matches!(error, FetchError::Closed { .. }), "{method}: {error:?}"),
        }
    }
    // A stream is gone once it was sent.
    served.store(0, Ordering::SeqCst);
    let client = client(LOCAL);
    text(&client, get(&server.url("/"))).await;
    let second = client.send(request("PUT", &server.url("/")).body(pieces(&["b"], None))).await;
    assert!(matches!(second, Err(FetchError::Closed { .. })));
}

/// What a server sends beyond its response is not taken for the next one.
#[tokio::test]
async fn an_unsolicited_response_is_dropped() {
    let server = Server::start(|seen| match seen.path() {
        "/first" => {
            reply("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nxHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil")
        }
        _ => ok("good"),
    })
    .await;
    let client = client(LOCAL);
    assert_eq!(text(&client, get(&server.url("/first"))).await, "x");
    assert_eq!(text(&client, get(&server.url("/second"))).await, "good");
    assert_eq!(server.count(), 2);
}

#[tokio::test]
async fn idle_connections_are_closed_in_time() {
    let mut server = Server::start(|_| ok("x")).await;
    let config = Config { idle_timeout: Duration::from_millis(30), ..config() };
    let client = config.build().unwrap().client(LOCAL.parse().unwrap());
    for connection in 0..2 {
        text(&client, get(&server.url("/"))).await;
        assert_eq!(server.closed.recv().await, Some(connection));
    }
}

#[tokio::test]
async fn only_so_many_connections_wait() {
    let mut server = Server::start(|_| ok("x")).await;
    let config = Config { max_idle_per_origin: 1, ..config() };
    let client = config.build().unwrap().client(LOCAL.parse().unwrap());
    let first = client.send(get(&server.url("/"))).await.unwrap().response;
    let second = client.send(get(&server.url("/"))).await.unwrap().response;
    first.body.collect().await.unwrap();
    second.body.collect().await.unwrap();
    assert_eq!(server.closed.recv().await, Some(0), "the older one makes room");
    text(&client, get(&server.url("/"))).await;
    assert_eq!(server.count(), 2);
    drop(client);
    assert_eq!(server.closed.recv().await, Some(1), "they go with their client");
}

#[tokio::test]
async fn only_so_many_requests_are_under_way() {
    let server = Server::start(|_| ok("x")).await;
    let config = Config { max_requests: 1, ..config() };
    let client = config.build().unwrap().client(LOCAL.parse().unwrap());
    let first = client.send(get(&server.url("/1"))).await.unwrap();
    let mut second = pin!(client.send(get(&server.url("/2"))));
    assert!(poll_once(second.as_mut()).is_pending());
    assert_eq!(first.response.body.collect().await.unwrap(), "x");
    assert_eq!(second.await.unwrap().response.body.collect().await.unwrap(), "x");
    assert_eq!(server.count(), 1, "the place came with its connection");
    // A failed request gives its place back.
    client.send(get("http://127.0.0.2:1/")).await.unwrap_err();
    text(&client, get(&server.url("/3"))).await;
}

#[tokio::test]
async fn dropping_the_future_closes_the_connection() {
    let mut server = Server::start(|_| Reply::Hang(Vec::new())).await;
    let client = client(LOCAL);
    let url = server.url("/");
    let sending = tokio::spawn(async move { client.send(get(&url)).await.map(|_| ()) });
    server.heads.recv().await.unwrap();
    sending.abort();
    assert_eq!(server.closed.recv().await, Some(0));
    assert!(sending.await.unwrap_err().is_cancelled());
}

#[tokio::test]
async fn dropping_the_body_closes_the_connection() {
    for head in ["content-length: 100", "transfer-encoding: chunked", "x: to-the-end"] {
        let mut server =
            Server::start(move |_| Reply::Hang(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n5\r\nhello\r\n").into()))
                .await;
        let client = client(LOCAL);
        let mut body = client.send(get(&server.url("/"))).await.unwrap().response.body;
        body.next().await.unwrap().unwrap();
        drop(body);
        assert_eq!(server.closed.recv().await, Some(0), "{head}");
    }
}

/// Also where the body is decoded on its way.
#[tokio::test]
async fn dropping_a_decoded_body_closes_the_connection() {
    let mut server = Server::start(|_| {
        let mut reply = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1000\r\n\r\n".to_vec();
        reply.extend_from_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0]);
        Reply::Hang(reply)
    })
    .await;
    let client = client(LOCAL);
    let body = client.send(get(&server.url("/"))).await.unwrap().response.body;
    drop(body);
    assert_eq!(server.closed.recv().await, Some(0));
}

/// A server that answers before it has read the request is left alone afterwards, and the app's stream learns of it.
#[tokio::test]
async fn an_early_answer_ends_the_upload() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (mut stream, _) = listener.accept().await.unwrap();
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno").await.unwrap();
        stream.read_to_end(&mut Vec::new()).await.unwrap();
    });
    let (writer, reader) = pipe(1024, None);
    let client = client(LOCAL);
    let response = client.send(request("POST", &url).body(Body::Stream(Box::new(reader)))).await.unwrap().response;
    assert_eq!(response.status, 413);
    assert_eq!(response.body.collect().await.unwrap(), "no");
    server.await.unwrap();
    std::future::poll_fn(|cx| writer.poll_gone(cx)).await;
}
