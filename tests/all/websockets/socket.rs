//! A client's side of a WebSocket, byte by byte.

use crate::client::{Client, Reply};
use crate::server::Server;

pub const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
pub const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

pub const TEXT: u8 = 1;
pub const BINARY: u8 = 2;
pub const CLOSE: u8 = 8;
pub const PING: u8 = 9;
pub const PONG: u8 = 10;

/// The client's side of a WebSocket, frame by frame.
pub struct Socket {
    pub client: Client,
    pub head: Reply,
}

/// A frame as it came: whether it is its message's last, its kind, and what is in it.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame(pub bool, pub u8, pub Vec<u8>);

pub fn ask(client: &mut Client, path: &str, more: &[(&str, &str)]) {
    let asking = [("connection", "keep-alive, Upgrade"), ("upgrade", "WebSocket"), ("sec-websocket-version", "13")];
    client.start("GET", path, &[&asking[..], &[("sec-websocket-key", KEY)], more].concat());
}

pub fn open(server: &Server, path: &str) -> Socket {
    Socket::open(server, path, &[])
}

/// Masked, as clients must.
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let key = [0x12, 0x34, 0x56, 0x78];
    let mut bytes = vec![first];
    match payload.len() {
        length @ 0..126 => bytes.push(0x80 | length as u8),
        length @ 126..0x1_0000 => {
            bytes.push(0x80 | 126);
            bytes.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            bytes.push(0x80 | 127);
            bytes.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(&key);
    bytes.extend(payload.iter().zip(key.iter().cycle()).map(|(a, b)| a ^ b));
    bytes
}

pub fn goodbye(code: u16, reason: &str) -> Vec<u8> {
    [&code.to_be_bytes()[..], reason.as_bytes()].concat()
}

// === impl Socket ===

impl Socket {
    #[track_caller]
    pub fn open(server: &Server, path: &str, more: &[(&str, &str)]) -> Self {
        let mut client = server.connect();
        ask(&mut client, path, more);
        Self::begin(client, server)
    }

    #[track_caller]
    pub fn begin(mut client: Client, server: &Server) -> Self {
        let head = client.head();
        assert_eq!(head.status, 101, "{head:?}; the log:\n{}", server.log());
        assert_eq!(head.header("upgrade"), Some("websocket"));
        assert_eq!(head.header("connection"), Some("Upgrade"));
        assert_eq!(head.header("sec-websocket-accept"), Some(ACCEPT));
        assert_eq!(head.header("content-length"), None);
        Self { client, head }
    }

    pub fn send(&mut self, kind: u8, payload: impl AsRef<[u8]>) {
        self.client.send(frame(0x80 | kind, payload.as_ref()));
    }

    pub fn say(&mut self, text: &str) {
        self.send(TEXT, text);
    }

    pub fn frame(&mut self) -> Frame {
        let head = self.client.exactly(2);
        assert_eq!(head[0] & 0x70, 0, "no extensions");
        assert_eq!(head[1] & 0x80, 0, "servers do not mask");
        let length = match head[1] {
            126 => u64::from(u16::from_be_bytes(self.client.exactly(2).try_into().unwrap())),
            127 => u64::from_be_bytes(self.client.exactly(8).try_into().unwrap()),
            length => u64::from(length),
        };
        Frame(head[0] & 0x80 != 0, head[0] & 0x0f, self.client.exactly(length as usize))
    }

    #[track_caller]
    pub fn hear(&mut self, text: &str) {
        assert_eq!(self.frame(), Frame(true, TEXT, text.as_bytes().to_vec()));
    }

    /// The code and the reason that the server says goodbye with.
    #[track_caller]
    pub fn hear_goodbye(&mut self) -> (u16, String) {
        let Frame(true, CLOSE, payload) = self.frame() else { panic!("no goodbye") };
        (u16::from_be_bytes([payload[0], payload[1]]), String::from_utf8(payload[2..].to_vec()).unwrap())
    }

    /// Says goodbye and is answered; the connection ends.
    #[track_caller]
    pub fn close(mut self, code: u16, reason: &str) {
        self.send(CLOSE, goodbye(code, reason));
        assert_eq!(self.hear_goodbye(), (code, reason.to_owned()));
        assert_eq!(self.client.rest(), b"");
    }
}
