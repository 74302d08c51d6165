//! Requests that become WebSockets.

use bytes::BytesMut;
use hearth_core::websocket::{Close, Message, SocketEvent, socket_pair};
use hearth_egress::{FetchError, FetchRequest};
use hearth_websocket::handshake::accept;
use hearth_websocket::{Config, Connection, Role};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{LOCAL, client, get};

fn asking(url: &str) -> FetchRequest {
    let mut request = get(url);
    request.headers.push(b"upgrade", b"websocket");
    request.headers.push(b"sec-websocket-protocol", b"chat, soap");
    request.headers.push(b"sec-websocket-key", b"the app's own");
    request.headers.push(b"sec-websocket-extensions", b"permessage-deflate");
    request
}

/// Takes one connection, reads a head and answers with what `answer` makes of the key.
async fn serve(listener: TcpListener, answer: impl Fn(&str) -> String) -> (TcpStream, String) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    let key = head.lines().find_map(|line| line.strip_prefix("sec-websocket-key: ")).unwrap();
    stream.write_all(answer(key).as_bytes()).await.unwrap();
    (stream, head)
}

fn agree(key: &str) -> String {
    let accept = accept(key.as_bytes());
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: {accept}\r\nsec-websocket-protocol: soap\r\n\r\n"
    )
}

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/chat", listener.local_addr().unwrap());
    (listener, url)
}

#[tokio::test]
async fn a_server_that_agrees_is_spoken_to() {
    let (listener, url) = listen().await;
    let server = tokio::spawn(serve(listener, agree));
    let answer = client(LOCAL).send(asking(&url)).await.unwrap();
    let (stream, head) = server.await.unwrap();
    assert!(head.contains("\r\nconnection: Upgrade\r\nupgrade: websocket\r\n"), "{head}");
    assert!(head.contains("\r\nsec-websocket-protocol: chat, soap\r\n"), "{head}");
    assert!(!head.contains("the app's own") && !head.contains("permessage"), "{head}");
    assert_eq!(answer.response.status, 101);
    assert_eq!(answer.response.headers.get("sec-websocket-protocol"), Some(&b"soap"[..]));
    let mut app = answer.response.websocket.unwrap();
    let (mut peer, end) = socket_pair(std::time::Duration::ZERO);
    tokio::spawn(Connection::new(stream, BytesMut::new(), Role::Server, Box::new(end), Config::default()).run());
    app.sender.send(Message::Text("hello".into()));
    assert_eq!(peer.receiver.next().await, Some(SocketEvent::Message(Message::Text("hello".into()))));
    peer.sender.send(Message::Binary(vec![7; 100_000].into()));
    assert_eq!(app.receiver.next().await, Some(SocketEvent::Message(Message::Binary(vec![7; 100_000].into()))));
    // An app that goes away is said goodbye for.
    drop(app);
    assert_eq!(peer.receiver.next().await, Some(SocketEvent::Close(Close::new(1001, "the app is gone"))));
}

#[tokio::test]
async fn an_answer_must_fit_the_question() {
    let answers: [fn(&str) -> String; 4] = [
        |_| agree("another key"),
        |key| agree(key).replace("soap", "mqtt"),
        |key| agree(key).replace("upgrade: websocket", "upgrade: h2c"),
        |key| agree(key).replace("\r\n\r\n", "\r\nsec-websocket-extensions: permessage-deflate\r\n\r\n"),
    ];
    for answer in answers {
        let (listener, url) = listen().await;
        let server = tokio::spawn(serve(listener, answer));
        let error = client(LOCAL).send(asking(&url)).await.unwrap_err();
        assert!(matches!(error, FetchError::Handshake { .. }), "{error:?}");
        let (mut stream, _) = server.await.unwrap();
        assert_eq!(stream.read(&mut [0; 64]).await.unwrap(), 0, "the connection is closed");
    }
}

#[tokio::test]
async fn any_other_answer_is_a_response_like_any_other() {
    let (listener, url) = listen().await;
    tokio::spawn(serve(listener, |_| "HTTP/1.1 426 Upgrade Required\r\ncontent-length: 2\r\n\r\nno".to_owned()));
    let answer = client(LOCAL).send(asking(&url)).await.unwrap();
    assert_eq!(answer.response.status, 426);
    assert!(answer.response.websocket.is_none());
    assert_eq!(answer.response.body.collect().await.unwrap(), "no");
}

#[tokio::test]
async fn the_policy_holds() {
    let (_listener, url) = listen().await;
    let error = client("public").send(asking(&url)).await.unwrap_err();
    assert!(matches!(error, FetchError::Denied(_)), "{error:?}");
}
