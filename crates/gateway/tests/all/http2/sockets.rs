//! WebSockets over HTTP/2 (RFC 8441).

use bytes::BytesMut;
use h2::ext::Protocol;
use hearth_core::websocket::{Close, Message};
use hearth_core::{Body, ByteSize, Headers, Response};
use hearth_gateway::Config;
use hearth_websocket::{Decoder, Deflate, Encoder, FrameQueue, Received, Role};

use super::*;
use crate::sockets::{agree, echo};

/// A client's end of a socket on a stream.
struct Socket {
    send: SendStream<Bytes>,
    recv: RecvStream,
    inbox: BytesMut,
    decoder: Decoder,
    encoder: Encoder,
}

impl Socket {
    async fn say(&mut self, message: Message) {
        let mut outbox = FrameQueue::default();
        self.encoder.message(message, &mut outbox);
        super::send(&mut self.send, outbox.take().into()).await;
    }

    async fn goodbye(&mut self, code: u16) {
        let mut outbox = FrameQueue::default();
        self.encoder.close(&Close::new(code, "bye"), &mut outbox);
        super::send(&mut self.send, outbox.take().into()).await;
    }

    /// None at the end of the stream.
    async fn hear(&mut self) -> Option<Received> {
        loop {
            if let Some(received) = self.decoder.decode(&mut self.inbox).unwrap() {
                return Some(received);
            }
            self.inbox.extend_from_slice(&next(&mut self.recv).await?.unwrap());
        }
    }
}

fn connect(path: &str, protocol: &'static str) -> http::request::Builder {
    let request = request(path).method("CONNECT").extension(Protocol::from_static(protocol));
    request.header("sec-websocket-version", "13")
}

/// A client that has received the server's settings, which enable extended CONNECT.
async fn client(server: &Running) -> Client2 {
    let mut client = Client2::connect(server).await;
    assert_eq!(client.ask(request("/")).await.status, 426);
    assert!(client.send.is_extended_connect_protocol_enabled());
    client
}

async fn open(client: &mut Client2, request: http::request::Builder) -> (http::response::Parts, Socket) {
    let (response, send) = client.open(request).await;
    let (head, recv) = response.await.unwrap().into_parts();
    let deflate = match head.headers.get("sec-websocket-extensions") {
        Some(_) => Deflate::On,
        None => Deflate::Off,
    };
    let (decoder, encoder) = (Decoder::new(Role::Client, ByteSize::mb(16)), Encoder::new(Role::Client));
    let (decoder, encoder) = (decoder.with(deflate), encoder.with(deflate));
    (head, Socket { send, recv, inbox: BytesMut::new(), decoder, encoder })
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_go_both_ways_beside_other_requests() {
    let server = start(Config::default(), echo).await;
    let mut client = client(&server).await;
    let (head, mut first) = open(&mut client, connect("/chat?a=1", "websocket")).await;
    assert_eq!((head.status.as_u16(), head.headers.get("content-length")), (200, None));
    assert_eq!(head.headers["x-saw"], "GET http://h/chat?a=1 websocket");
    let (_, mut second) = open(&mut client, connect("/", "websocket")).await;
    let large = Message::Binary(vec![7; 1 << 20].into());
    first.say(Message::Text("one".into())).await;
    second.say(large.clone()).await;
    assert_eq!(first.hear().await, Some(Received::Message(Message::Text("one".into()))));
    assert_eq!(second.hear().await, Some(Received::Message(large)));
    assert_eq!(client.ask(request("/")).await.status, 426, "the connection still serves others");
    first.goodbye(1000).await;
    assert!(matches!(first.hear().await, Some(Received::Close(_))));
    assert_eq!(first.hear().await, None, "the stream has ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_compressed_where_both_want_it() {
    let server = start(Config::default(), echo).await;
    let mut client = client(&server).await;
    let offer = connect("/", "websocket").header("sec-websocket-extensions", "permessage-deflate");
    let (head, mut socket) = open(&mut client, offer).await;
    assert!(head.headers["sec-websocket-extensions"].to_str().unwrap().starts_with("permessage-deflate"));
    let text = Message::Text("all work and no play ".repeat(1000));
    socket.say(text.clone()).await;
    assert_eq!(socket.hear().await, Some(Received::Message(text)));
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_without_a_socket_are_refused() {
    let server = start(Config::default(), |request| async move {
        Ok(match request.url.as_str() {
            "http://h/agreed" => agree(request),
            "http://h/no" => Response::new(403, Headers::new(), Body::Empty),
            _ => text_response("hello"),
        })
    })
    .await;
    let mut client = Client2::connect(&server).await;
    assert_eq!(client.ask(request("/agreed")).await.status, 426);
    let mut status = async |request: http::request::Builder| {
        let (response, _send) = client.open(request).await;
        response.await.unwrap().status().as_u16()
    };
    assert_eq!(status(connect("/no", "websocket")).await, 403);
    assert_eq!(status(connect("/text", "websocket")).await, 502, "a success would be a socket");
    assert_eq!(status(connect("/agreed", "connect-udp")).await, 501);
    let without = request("/agreed").method("CONNECT").extension(Protocol::from_static("websocket"));
    assert_eq!(status(without).await, 426, "no version");
    assert_eq!(status(connect("/agreed", "websocket")).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_closes_sockets_with_1001() {
    let server = start(Config::default(), echo).await;
    let mut client = client(&server).await;
    let (_, mut socket) = open(&mut client, connect("/", "websocket")).await;
    socket.say(Message::Text("there".into())).await;
    socket.hear().await;
    let stopping = tokio::spawn(server.stop());
    let Some(Received::Close(close)) = socket.hear().await else { panic!("no goodbye") };
    assert_eq!(close.code, Some(1001));
    socket.goodbye(1001).await;
    assert_eq!(stopping.await.unwrap().aborted, 0);
}
