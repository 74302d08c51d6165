//! HTTP/2 rapid reset: the library warns of it once a connection, which a client can cause thousands of times a second. The
//! log stays silent.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::folder::Folder;
use crate::server::{PATIENCE, Server};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const END_STREAM_AND_HEADERS: u8 = 5;
const CANCEL: [u8; 4] = [0, 0, 0, 8];
/// GET http://h/ in HPACK: three fields of the static table, then `:authority` with a literal.
const REQUEST: [u8; 6] = [0x82, 0x86, 0x84, 0x41, 1, b'h'];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// One connection of a thousand requests, each of which is reset at once.
fn attack(server: &Server) {
    let mut bytes = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    for stream in (1..2_000).step_by(2) {
        bytes.extend(frame(HEADERS, END_STREAM_AND_HEADERS, stream, &REQUEST));
        bytes.extend(frame(RST_STREAM, 0, stream, &CANCEL));
    }
    let mut socket = TcpStream::connect(server.address()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    // The server may end the connection before it has read all.
    let _ = socket.write_all(&bytes);
    let _ = socket.shutdown(std::net::Shutdown::Write);
    let _ = socket.read_to_end(&mut Vec::new());
}

fn serve(name: &str, environment: &[(&str, &str)]) -> (Folder, Server) {
    let app = "export default { fetch() { console.log('after the attack'); return new Response('well'); } };";
    let folder = Folder::with(name, &[("app/index.js", app)]);
    let server = Server::start(&["serve", folder.path().to_str().unwrap()], environment);
    (folder, server)
}

#[test]
fn a_rapid_reset_leaves_no_line_in_the_log() {
    let (_folder, server) = serve("rapid-reset", &[]);
    (0..10).for_each(|_| attack(&server));
    server.expect("/app/", "well");
    server.wait_log("after the attack");
    assert!(!server.log().contains("h2::"), "{}", server.log());
    // It is the attack that the library warns of: with its warnings wanted they are there.
    let (_folder, server) = serve("rapid-reset-told", &[("RUST_LOG", "info,h2=warn")]);
    attack(&server);
    server.wait_log("h2::");
}
