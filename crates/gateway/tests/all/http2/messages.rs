//! Heads, errors and the log: the same as in HTTP/1.

use bytes::Bytes;
use h2::Reason;
use hearth_core::{BodyError, Request};
use hearth_gateway::{AccessLogOutput, Config};
use tokio::sync::mpsc;

use crate::http2::{Client2, next, request};
use crate::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_the_same_in_both_protocols() {
    let server = start(Config::default(), |request: Request| async move {
        let text = format!("{} {} {:?} {:?}", request.method.as_str(), request.url, request.headers, request.client);
        Ok(text_response(text))
    })
    .await;
    let mut client = Client2::connect(&server).await;
    let asked =
        request("/a?b").header("x-request-id", "r1").header("x-forwarded-for", "9.9.9.9").header("te", "trailers");
    let reply = client.ask(asked).await;
    let identity = r#""x-forwarded-for": "127.0.0.1", "x-forwarded-proto": "http""#;
    let headers = format!(r#"{{"host": "h", {identity}, "x-request-id": "r1"}}"#);
    assert_eq!(reply.text(), format!("GET http://h/a?b {headers} Some(127.0.0.1)"));
    assert_eq!((reply.status, reply.header("x-request-id"), reply.header("date").len()), (200, "r1", 29));
    assert_eq!(reply.header("content-length"), reply.body.len().to_string());
    let refused = client.ask(request("/").header("host", "other")).await;
    assert_eq!((refused.status, refused.text().contains("host_differs")), (400, true));
    let many = (0..101).fold(request("/"), |request, n| request.header(format!("x-{n}"), "y"));
    assert_eq!(client.ask(many).await.status, 431);
    assert_eq!(client.ask(request("/").header("x", "y".repeat(20_000))).await.status, 431);
    // HTTP/1 on the same listener.
    assert_eq!(server.connect().await.ask(get("/")).await.status, 200);
    let summary = server.stop().await;
    assert_eq!((summary.connections, summary.served, summary.rejected), (2, 2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_of_the_app_reach_the_client() {
    let server = start(Config::default(), |request: Request| async move {
        match request.url.as_str() {
            "http://h/fail" => Err(hearth_core::Failure::App { message: "secret".into() }),
            "http://h/cut" => {
                let two = [Ok(Bytes::from_static(b"12")), Err(BodyError::Cancelled)];
                Ok(stream_response(Made(pieces(two), None)))
            }
            "http://h/short" => Ok(stream_response(Made(pieces([Ok(Bytes::from_static(b"12"))]), Some(5)))),
            "http://h/long" => Ok(stream_response(Made(pieces([Ok(Bytes::from_static(b"1234567"))]), Some(5)))),
            "http://h/panic" => panic!("as the test wants"),
            _ => mirror(request).await,
        }
    })
    .await;
    let mut client = Client2::connect(&server).await;
    let failed = client.ask(request("/fail")).await;
    assert_eq!((failed.status, failed.header("content-type")), (502, "application/json"));
    assert!(failed.text().contains("app_failed") && !failed.text().contains("secret"));
    for path in ["/cut", "/short"] {
        let mut body = client.begin(request(path)).await.await.unwrap().into_body();
        // What was sent before may arrive or not.
        let error = loop {
            match next(&mut body).await {
                Some(Ok(piece)) => assert_eq!(piece, "12"),
                Some(Err(error)) => break error,
                None => panic!("{path} has ended as if it were whole"),
            }
        };
        assert_eq!(error.reason(), Some(Reason::CANCEL), "{path}");
    }
    assert_eq!(client.ask(request("/long")).await.text(), "12345");
    assert!(client.begin(request("/panic")).await.await.is_err());
    assert_eq!(client.ask(request("/")).await.status, 200);
    let head = client.ask(request("/").method("HEAD")).await;
    assert_eq!((head.status, head.header("content-length"), head.text()), (200, "15", ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_logged_and_compressed_as_in_http_1() {
    let (lines, mut seen) = mpsc::unbounded_channel();
    let access_log = AccessLogOutput::text(move |line| lines.send(line.to_owned()).unwrap());
    let server = start(Config { access_log, ..Config::default() }, |_| async {
        let mut response = text_response("green bottles ".repeat(5000));
        response.headers.push(b"content-type", b"text/plain");
        Ok(response)
    })
    .await;
    let mut client = Client2::connect(&server).await;
    let reply = client.ask(request("/x").header("accept-encoding", "gzip").header("user-agent", "ua")).await;
    assert_eq!((reply.header("content-encoding"), reply.header("content-length")), ("gzip", ""));
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&reply.body[..]), &mut text).unwrap();
    assert_eq!(text, "green bottles ".repeat(5000));
    let line = seen.recv().await.unwrap();
    let expected = format!("127.0.0.1 \"GET http://h/x HTTP/2\" 200 {} ", reply.body.len());
    assert!(line.contains(&expected) && line.ends_with("\"-\" \"ua\""), "{line}");
}
