//! Requests and responses without streams: what apps see, what clients get, and how connections are kept.

use bytes::Bytes;
use hearth_core::{Body, Headers, Response};
use hearth_gateway::{Config, HalfClose, Scheme};
use tokio::io::AsyncWriteExt;

use crate::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_kept_alive() {
    let server = start(Config::default(), mirror).await;
    let mut client = server.connect().await;
    for n in 0..3 {
        let reply = client.ask(get(&format!("/{n}"))).await;
        assert_eq!((reply.status, reply.text()), (200, format!("GET http://h/{n} ").as_str()));
        assert_eq!(reply.header("connection"), "");
        assert_eq!(reply.header("date").len(), 29);
    }
    let reply = client.ask("GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").await;
    assert_eq!(reply.header("connection"), "close");
    client.assert_closed().await;
    let summary = server.stop().await;
    assert_eq!((summary.connections, summary.served, summary.aborted, summary.rejected), (1, 4, 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn http_1_0_closes_unless_asked() {
    let server = start(Config::default(), mirror).await;
    let mut client = server.connect().await;
    let reply = client.ask("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").await;
    assert_eq!((reply.header("connection"), reply.text()), ("keep-alive", "GET http://localhost/a "));
    let reply = client.ask("GET /b HTTP/1.0\r\n\r\n").await;
    assert_eq!((reply.header("connection"), reply.text()), ("close", "GET http://localhost/b "));
    client.assert_closed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_pipelined_requests_are_answered_in_order() {
    let server = start(Config::default(), |request| async move {
        // Some are ready at once, some are not.
        if request.url.ends_with('7') {
            tokio::task::yield_now().await;
        }
        mirror(request).await
    })
    .await;
    let mut client = server.connect().await;
    let (mut reads, mut writes) = client.stream.into_split();
    let sent: String =
        (0..1000).map(|n| format!("POST /{n} HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n{n:04}")).collect();
    let writer = tokio::spawn(async move {
        writes.write_all(sent.as_bytes()).await.unwrap();
        writes
    });
    let mut all = Vec::new();
    let expected = |n: usize| format!("POST http://h/{n} {n:04}");
    while !String::from_utf8_lossy(&all).ends_with(&expected(999)) {
        assert!(tokio::io::AsyncReadExt::read_buf(&mut reads, &mut all).await.unwrap() > 0);
    }
    client = Client { stream: reads.reunite(writer.await.unwrap()).unwrap(), buffer: all };
    for n in 0..1000 {
        assert_eq!(client.reply().await.text(), expected(n));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_may_be_cut_anywhere() {
    let server = start(Config::default(), mirror).await;
    let mut client = server.connect().await;
    for text in [
        "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
        "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x\r\nlo\r\n0\r\nT: t\r\n\r\n",
    ] {
        for cut in 1..text.len() {
            client.send(&text[..cut]).await;
            // Not needed for the outcome, but it makes it likely that the server sees the cut.
            tokio::task::yield_now().await;
            let reply = client.ask(&text[cut..]).await;
            assert_eq!((reply.status, reply.text()), (200, "POST http://h/a hello"), "{cut}");
        }
    }
    // And byte by byte.
    for byte in get("/bytes").bytes() {
        client.send([byte]).await;
    }
    assert_eq!(client.reply().await.text(), "GET http://h/bytes ");
}

#[tokio::test(flavor = "multi_thread")]
async fn apps_see_the_request_and_not_the_connection() {
    let config = Config { scheme: Scheme::Https, ..Config::default() };
    let server = start(config, |request| async move {
        let text = format!("{} {:?}", request.url, request.headers);
        Ok(text_response(text))
    })
    .await;
    let mut client = server.connect().await;
    let reply = client
        .ask("GET /x HTTP/1.1\r\nHost: h:1\r\nTE: trailers\r\nConnection: keep-alive\r\nX-Request-Id: abc.1\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n")
        .await;
    let identity = r#""x-forwarded-for": "127.0.0.1", "x-forwarded-proto": "https""#;
    assert_eq!(reply.text(), format!(r#"https://h:1/x {{"host": "h:1", {identity}, "x-request-id": "abc.1"}}"#));
    assert_eq!(reply.header("x-request-id"), "abc.1");
    let reply = client.ask("GET http://other/y HTTP/1.1\r\nHost: h\r\nX-Request-Id: a b\r\n\r\n").await;
    let made = reply.header("x-request-id");
    assert_eq!(made.len(), 16);
    assert_eq!(reply.text(), format!(r#"https://other/y {{"host": "other", {identity}, "x-request-id": "{made}"}}"#));
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_without_a_body_do_not_disturb_the_next() {
    let server = start(Config::default(), |request| async move {
        let status = request.url.rsplit('/').next().unwrap().parse().unwrap();
        let mut headers = Headers::new();
        headers.push(b"content-length", b"77");
        Ok(Response::new(status, headers, Body::Full(Bytes::from_static(b"body"))))
    })
    .await;
    let mut client = server.connect().await;
    client.send(format!("{}{}", get("/204"), get("/304"))).await;
    client.send("HEAD /200 HTTP/1.1\r\nHost: h\r\n\r\n").await;
    let replies = [client.head().await, client.head().await, client.head().await];
    let got: Vec<_> = replies.iter().map(|r| (r.status, r.header("content-length"))).collect();
    assert_eq!(got, [(204, ""), (304, "77"), (200, "4")]);
    let reply = client.ask(get("/200")).await;
    assert_eq!((reply.header("content-length"), reply.text()), ("4", "body"));
}

#[tokio::test(flavor = "multi_thread")]
async fn large_answers_arrive_whole() {
    let big: Bytes = (0..5_000_000u32).map(|n| (n % 251) as u8).collect::<Vec<_>>().into();
    let answer = big.clone();
    let server = start(Config::default(), move |_| {
        let answer = answer.clone();
        async move { Ok(text_response(answer)) }
    })
    .await;
    let mut client = server.connect().await;
    client.send(get("/1") + &get("/2")).await;
    for _ in 0..2 {
        assert!(client.reply().await.body == big);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_half_closed_client_gets_an_answer_that_is_ready() {
    for half_close in [HalfClose::Disconnects, HalfClose::Allowed] {
        let server = start(Config { half_close, ..Config::default() }, mirror).await;
        let mut client = server.connect().await;
        client.send(get("/1") + &get("/2")).await;
        client.stream.shutdown().await.unwrap();
        assert_eq!(client.reply().await.text(), "GET http://h/1 ");
        assert_eq!(client.reply().await.text(), "GET http://h/2 ");
        client.assert_closed().await;
    }
}
