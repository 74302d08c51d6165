//! The client of a request, as apps see it, over real connections; and headers that pass through unchanged.

use hearth_core::Request;
use hearth_gateway::Config;

use crate::support::*;

/// Answers `CLIENT URL HEADERS`.
async fn describe(request: Request) -> Answer {
    let client = request.client.unwrap();
    Ok(text_response(format!("{client} {} {:?}", request.url, request.headers)))
}

#[tokio::test(flavor = "multi_thread")]
async fn untrusted_clients_cannot_claim_an_address() {
    let server = start(Config::default(), describe).await;
    let mut client = server.connect().await;
    let reply = client
        .ask("GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 9.9.9.9\r\nX-Real-Ip: 9.9.9.9\r\nX-Base: /a\r\nX-Hearth-X: y\r\n\r\n")
        .await;
    let id = reply.header("x-request-id");
    let headers = r#""host": "h", "x-forwarded-for": "127.0.0.1", "x-forwarded-proto": "http""#;
    assert_eq!(reply.text(), format!(r#"127.0.0.1 http://h/ {{{headers}, "x-request-id": "{id}"}}"#));
}

#[tokio::test(flavor = "multi_thread")]
async fn trusted_proxies_can_claim_an_address() {
    let config = Config { trusted_proxies: vec!["127.0.0.0/8".parse().unwrap()], ..Config::default() };
    let server = start(config, describe).await;
    let mut client = server.connect().await;
    let lines = "X-Forwarded-For: 6.6.6.6, 9.9.9.9\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: shop.example\r\n";
    let reply = client.ask(format!("GET /x HTTP/1.1\r\nHost: h\r\n{lines}\r\n")).await;
    assert!(reply.text().starts_with("9.9.9.9 https://shop.example/x {\"host\": \"shop.example\""), "{}", reply.text());
    assert!(reply.text().contains(r#""x-forwarded-for": "9.9.9.9", "x-forwarded-proto": "https""#));
    // A claim holds for one request only.
    let reply = client.ask(get("/y")).await;
    assert!(reply.text().starts_with("127.0.0.1 http://h/y "), "{}", reply.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn traces_pass_through_untouched() {
    let server = start(Config::default(), describe).await;
    let mut client = server.connect().await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let lines = format!("Traceparent: {trace}\r\nTracestate: a=1,b=2\r\n");
    let reply = client.ask(format!("GET / HTTP/1.1\r\nHost: h\r\n{lines}\r\n")).await;
    assert!(
        reply.text().contains(&format!(r#""traceparent": "{trace}", "tracestate": "a=1,b=2""#)),
        "{}",
        reply.text()
    );
}
