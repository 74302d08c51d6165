//! Failures as clients see them.

use hearth_core::{Body, Failure, Headers, Request, Response};
use hearth_gateway::{Config, ErrorDetail};

use crate::support::*;

async fn failing(errors: ErrorDetail) -> Running {
    start(Config { errors, ..Config::default() }, |request: Request| async move {
        match request.url.as_str() {
            "http://h/app" => Err(Failure::App { message: "Error: secret <b>".into() }),
            "http://h/full" => Err(Failure::Capacity { reason: "all workers are busy" }),
            "http://h/101" => Ok(Response::new(101, Headers::new(), Body::Empty)),
            _ => Err(Failure::NoHandler { event: "fetch" }),
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_become_responses_and_the_connection_is_kept() {
    let server = failing(ErrorDetail::Brief).await;
    let mut client = server.connect().await;
    let reply = client.ask("GET /app HTTP/1.1\r\nHost: h\r\nX-Request-Id: r1\r\n\r\n").await;
    assert_eq!((reply.status, reply.header("content-type")), (502, "application/json"));
    assert_eq!(reply.text(), r#"{"error":{"code":"app_failed","message":"the app failed","request_id":"r1"}}"#);
    let reply = client.ask(get("/full")).await;
    assert_eq!((reply.status, reply.header("retry-after")), (503, "1"));
    assert_eq!(client.ask(get("/other")).await.status, 501);
    assert_eq!(client.ask(get("/101")).await.status, 502);
    client.send("HEAD /app HTTP/1.1\r\nHost: h\r\n\r\n").await;
    assert_eq!(client.head().await.status, 502);
    let reply = client.ask("GET /app HTTP/1.1\r\nHost: h\r\nAccept: text/html,*/*\r\n\r\n").await;
    assert_eq!(reply.header("content-type"), "text/html; charset=utf-8");
    assert!(reply.text().contains("502") && !reply.text().contains("secret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn detailed_errors_show_the_apps_message() {
    let server = failing(ErrorDetail::Detailed).await;
    let mut client = server.connect().await;
    assert!(client.ask(get("/app")).await.text().contains("Error: secret <b>"));
    let reply = client.ask("GET /app HTTP/1.1\r\nHost: h\r\nAccept: text/html\r\n\r\n").await;
    assert!(reply.text().contains("Error: secret &lt;b&gt;"));
}
