//! Compression as clients see it.

use std::io::Read;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use hearth_core::{Body, Headers, Request, Response};
use hearth_gateway::{Compression, Config};
use tokio::sync::mpsc;

use crate::support::*;

fn page(body: Body) -> Response {
    let mut headers = Headers::new();
    headers.push(b"content-type", b"text/html; charset=utf-8");
    headers.push(b"etag", b"\"v1\"");
    Response::new(200, headers, body)
}

fn text(size: usize) -> String {
    (0..)
        .map(|n| format!("{n} green bottles\n"))
        .scan(0, |sum, line| {
            *sum += line.len();
            (*sum < size).then_some(line)
        })
        .collect()
}

fn asking(path: &str, accept: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: h\r\nAccept-Encoding: {accept}\r\n\r\n")
}

fn gunzip(bytes: &[u8]) -> String {
    let mut out = String::new();
    flate2::read::GzDecoder::new(bytes).read_to_string(&mut out).unwrap();
    out
}

fn unbrotli(bytes: &[u8]) -> String {
    let mut out = String::new();
    brotli::Decompressor::new(bytes, 4096).read_to_string(&mut out).unwrap();
    out
}

async fn serving(compression: Compression) -> Running {
    start(Config { compression, ..Config::default() }, |request: Request| async move {
        let size = request.url.rsplit('/').next().unwrap().parse().unwrap();
        Ok(page(Body::Full(text(size).into())))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_compressed_for_clients_that_accept_it() {
    let server = serving(Compression::On).await;
    let mut client = server.connect().await;
    for size in [2_000, 300_000] {
        let path = format!("/{size}");
        let plain = client.ask(get(&path)).await;
        assert_eq!((plain.header("content-encoding"), plain.header("vary")), ("", "accept-encoding"));
        assert_eq!((plain.text(), plain.header("etag")), (text(size).as_str(), "\"v1\""));
        let reply = client.ask(asking(&path, "gzip, deflate")).await;
        assert_eq!((reply.header("content-encoding"), reply.header("etag")), ("gzip", "W/\"v1\""));
        assert_eq!(gunzip(&reply.body), text(size));
        let reply = client.ask(asking(&path, "gzip, deflate, br, zstd")).await;
        assert_eq!((reply.header("content-encoding"), reply.header("vary")), ("br", "accept-encoding"));
        assert_eq!(unbrotli(&reply.body), text(size));
        assert!(reply.body.len() < size / 3, "{}", reply.body.len());
    }
    let small = client.ask(asking("/900", "gzip")).await;
    assert_eq!((small.header("content-encoding"), small.text()), ("", text(900).as_str()));
    let old = client.ask("GET /2000 HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n").await;
    assert_eq!(old.text(), text(2000));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_compressed_when_turned_off() {
    let server = serving(Compression::Off).await;
    let reply = server.connect().await.ask(asking("/2000", "gzip")).await;
    assert_eq!((reply.header("content-encoding"), reply.header("vary")), ("", ""));
    assert_eq!(reply.text(), text(2000));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_stream_still_streams() {
    for coding in ["gzip", "br"] {
        let (sender, receiver) = mpsc::unbounded_channel::<Bytes>();
        let receiver = Arc::new(Mutex::new(Some(receiver)));
        let server = start(Config::default(), move |_| {
            let mut receiver = receiver.lock().unwrap().take().unwrap();
            let source = move |cx: &mut std::task::Context<'_>| receiver.poll_recv(cx).map(|p| p.map(Ok));
            async move { Ok(page(Body::Stream(Box::new(Made(source, None))))) }
        })
        .await;
        let mut client = server.connect().await;
        client.send(asking("/", coding)).await;
        assert_eq!(client.head().await.header("content-encoding"), coding);
        let (mut received, mut expected) = (Vec::new(), String::new());
        for n in 0..20 {
            let line = format!("line {n}\n");
            expected += &line;
            sender.send(line.into()).unwrap();
            // What was sent can be read before anything else is.
            while readable(coding, &received) != expected {
                received.extend_from_slice(&client.chunk().await.unwrap());
            }
        }
        drop(sender);
        while let Some(chunk) = client.chunk().await {
            received.extend_from_slice(&chunk);
        }
        assert_eq!(if coding == "br" { unbrotli(&received) } else { gunzip(&received) }, expected);
    }
}

/// Decodes the start of a compressed body, as far as it has arrived.
fn readable(coding: &str, bytes: &[u8]) -> String {
    let mut reader: Box<dyn Read + '_> = match coding {
        "br" => Box::new(brotli::Decompressor::new(bytes, 4096)),
        _ => Box::new(flate2::read::GzDecoder::new(bytes)),
    };
    let (mut out, mut buffer) = (Vec::new(), [0; 64]);
    while let Ok(count @ 1..) = reader.read(&mut buffer) {
        out.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8(out).unwrap()
}
