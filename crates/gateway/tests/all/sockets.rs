//! WebSockets over HTTP/1: the handshake and the frames.

use std::future::poll_fn;
use std::time::Duration;

use bytes::BytesMut;
use hearth_core::websocket::{Message, SocketEvent, socket_pair};
use hearth_core::{Body, ByteSize, Headers, Request, Response, SocketEnd};
use hearth_gateway::{Compression, Config};
use hearth_websocket::{Decoder, Deflate, Encoder, FrameQueue, Received, Role};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::*;

/// Opens a socket that echoes.
pub async fn echo(request: Request) -> Answer {
    Ok(agree(request))
}

pub fn agree(request: Request) -> Response {
    let upgrade = String::from_utf8_lossy(request.headers.get("upgrade").unwrap_or_default()).into_owned();
    let saw = format!("{} {} {upgrade}", request.method.as_str(), request.url);
    let (ours, theirs) = socket_pair(Duration::ZERO);
    tokio::spawn(say_back(ours));
    let mut headers = Headers::new();
    headers.push(b"x-saw", saw.as_bytes());
    headers.push(b"sec-websocket-extensions", b"the-apps-own");
    Response { websocket: Some(Box::new(theirs)), ..Response::new(101, headers, Body::Empty) }
}

async fn say_back(mut end: SocketEnd) {
    while let Some(event) = poll_fn(|cx| end.receiver.poll_next(cx)).await {
        match event {
            SocketEvent::Message(message) => drop(end.sender.send(message)),
            SocketEvent::Close(close) => end.sender.close(close),
            SocketEvent::Failed(_) => return,
        }
    }
}

const ASK: &str = "GET / HTTP/1.1\r\nhost: h\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                   sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const OFFER: &str = "sec-websocket-extensions: permessage-deflate; client_max_window_bits\r\n";

/// The head of the answer, and what is left of the connection.
async fn ask(config: Config, more: &str) -> (String, Running, Client) {
    let server = start(config, echo).await;
    let mut client = server.connect().await;
    client.stream.write_all(format!("{ASK}{more}\r\n").as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.stream.read_u8().await.unwrap());
    }
    (String::from_utf8(head).unwrap(), server, client)
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_compressed_where_both_want_it() {
    let (head, _server, mut client) = ask(Config::default(), OFFER).await;
    let expected =
        "sec-websocket-extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n";
    assert!(head.starts_with("HTTP/1.1 101") && head.contains(expected) && !head.contains("the-apps-own"), "{head}");

    let (mut encoder, mut outbox) = (Encoder::new(Role::Client).with(Deflate::On), FrameQueue::default());
    let text = "the quick brown fox jumps over the lazy dog ".repeat(500);
    for message in [Message::Text(text.clone()), Message::Text("short".into())] {
        encoder.message(message, &mut outbox);
    }
    let bytes = outbox.take();
    assert!(bytes.len() < text.len() / 10, "{}", bytes.len());
    client.stream.write_all(&bytes).await.unwrap();

    let mut decoder = Decoder::new(Role::Client, ByteSize::mb(1)).with(Deflate::On);
    let (mut inbox, mut came, mut heard) = (BytesMut::new(), 0, Vec::new());
    while heard.len() < 2 {
        came += client.stream.read_buf(&mut inbox).await.unwrap();
        while let Some(Received::Message(Message::Text(text))) = decoder.decode(&mut inbox).unwrap() {
            heard.push(text);
        }
    }
    assert_eq!(heard, [text.clone(), "short".to_owned()]);
    assert!(came < text.len() / 10, "{came}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_offered_extensions_are_accepted() {
    let off = Config { compression: Compression::Off, ..Config::default() };
    for (config, offer) in [
        (Config::default(), ""),
        (Config::default(), "sec-websocket-extensions: permessage-deflate; server_max_window_bits=10\r\n"),
        (Config::default(), "sec-websocket-extensions: x-webkit-deflate-frame\r\n"),
        (off, OFFER),
    ] {
        let (head, _server, _client) = ask(config, offer).await;
        assert!(head.starts_with("HTTP/1.1 101") && !head.contains("sec-websocket-extensions"), "{offer}: {head}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decompression_bomb_ends_its_connection() {
    let (_, _server, mut client) = ask(Config::default(), OFFER).await;
    let mut compress = flate2::Compress::new(flate2::Compression::best(), false);
    let mut bomb = Vec::with_capacity(1 << 20);
    compress.compress_vec(&vec![0; 32 << 20], &mut bomb, flate2::FlushCompress::Sync).unwrap();
    // A binary message, compressed, with a key of zeros.
    let mut frame = vec![0xc2, 0xfe];
    frame.extend_from_slice(&u16::try_from(bomb.len()).unwrap().to_be_bytes());
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(&bomb);
    client.stream.write_all(&frame).await.unwrap();
    let (mut decoder, mut inbox) = (Decoder::new(Role::Client, ByteSize::mb(1)), BytesMut::new());
    loop {
        if let Some(received) = decoder.decode(&mut inbox).unwrap() {
            let Received::Close(close) = received else { panic!("{received:?}") };
            return assert_eq!(close.code, Some(1009));
        }
        assert_ne!(client.stream.read_buf(&mut inbox).await.unwrap(), 0, "closed without a word");
    }
}
