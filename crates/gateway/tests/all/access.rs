//! The access log: one line for each request, however it ends.

use std::task::Poll;

use bytes::Bytes;
use hearth_core::{BodyError, Request};
use hearth_gateway::{AccessLogOutput, Config};
use tokio::sync::mpsc;

use crate::support::*;

fn logging() -> (Config, mpsc::UnboundedReceiver<String>) {
    let (lines, seen) = mpsc::unbounded_channel();
    let access_log = AccessLogOutput::json(move |line| {
        let _ = lines.send(line.to_owned());
    });
    (Config { access_log, ..Config::default() }, seen)
}

fn assert_has(line: &str, parts: &[&str]) {
    for part in parts {
        assert!(line.contains(part), "no {part} in {line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_is_one_line() {
    let (config, mut lines) = logging();
    let server = start(config, |request: Request| async move {
        match request.url.as_str() {
            "http://h/stream" => {
                let two = [Ok(Bytes::from_static(b"12")), Ok(Bytes::from_static(b"345"))];
                Ok(stream_response(Made(pieces(two), None)))
            }
            "http://h/cut" => {
                let two = [Ok(Bytes::from_static(b"12")), Err(BodyError::Cancelled)];
                Ok(stream_response(Made(pieces(two), None)))
            }
            _ => mirror(request).await,
        }
    })
    .await;
    let mut client = server.connect().await;
    let lines_of = "User-Agent: test/1 \"x\"\r\nReferer: http://r/\r\nX-Request-Id: r1\r\n";
    client.ask(format!("GET /a?b HTTP/1.1\r\nHost: h\r\n{lines_of}\r\n")).await;
    assert_has(
        &lines.recv().await.unwrap(),
        &[
            r#"{"time":"20"#,
            r#""client":"127.0.0.1","method":"GET","url":"http://h/a?b","protocol":"HTTP/1.1","status":200,"bytes":17,"#,
            r#""outcome":"answered","request_id":"r1","referer":"http://r/","user_agent":"test/1 \"x\""}"#,
        ],
    );
    client.ask(get("/stream")).await;
    assert_has(&lines.recv().await.unwrap(), &[r#""url":"http://h/stream""#, r#""status":200,"bytes":5,"#]);
    client.send(get("/cut")).await;
    assert_has(&lines.recv().await.unwrap(), &[r#""bytes":2,"#, r#""outcome":"cut_off""#]);
    server.all("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n").await;
    assert_has(
        &lines.recv().await.unwrap(),
        &[r#""method":"POST""#, r#""status":413"#, r#""outcome":"body_too_large""#],
    );
    server.all("nonsense\r\n\r\n").await;
    assert_has(&lines.recv().await.unwrap(), &[r#""method":"","url":"""#, r#""status":400"#, "malformed_head"]);
    server.stop().await;
    assert!(lines.try_recv().is_err(), "nothing was logged twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_is_logged_without_a_status() {
    let (config, mut lines) = logging();
    let (began, mut begun) = mpsc::unbounded_channel();
    let server = start(config, move |_| {
        began.send(()).unwrap();
        std::future::poll_fn(|_| Poll::<Answer>::Pending)
    })
    .await;
    let mut client = server.connect().await;
    client.send(get("/")).await;
    begun.recv().await.unwrap();
    drop(client);
    assert_has(&lines.recv().await.unwrap(), &[r#""status":null"#, r#""outcome":"client_gone""#]);
}
