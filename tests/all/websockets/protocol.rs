//! What goes over the wire: frames, fragments, subprotocols, close frames, and peers that break the rules.

use super::socket::{BINARY, CLOSE, Frame, KEY, PING, PONG, Socket, TEXT, frame, goodbye, open};
use crate::server::serve_alone;

#[test]
fn text_and_bytes_are_echoed_and_pings_answered() {
    let server = serve_alone("websockets/server");
    let mut socket = open(&server, "/echo");
    assert_eq!(socket.head.header("x-app"), Some("websockets"));
    for text in ["hello", "", "größe 🔥", &"x".repeat(125), &"y".repeat(126), &"z".repeat(70_000)] {
        socket.say(text);
        socket.hear(text);
    }
    for size in [0, 3, 65_535, 65_536, 1 << 20] {
        let bytes: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
        socket.send(BINARY, &bytes);
        assert!(socket.frame() == Frame(true, BINARY, bytes), "{size} bytes");
    }
    socket.send(PING, "?");
    assert_eq!(socket.frame(), Frame(true, PONG, b"?".to_vec()));
    socket.send(PONG, "unasked");
    socket.close(1000, "bye");
    server.expect("/next", "close: 1000 bye true 3");
    // The client said goodbye: nothing was aborted. This comes first if something was.
    open(&server, "/goodbye").say("1000");
    server.expect("/next", "closing: 2");
}

#[test]
fn fragments_are_joined_whatever_comes_between() {
    let server = serve_alone("websockets/server");
    let mut client = server.connect();
    // All at once: what follows the request is not lost.
    let fire = "🔥".as_bytes();
    let parts = [
        format!("GET /echo HTTP/1.1\r\nhost: test\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: {KEY}\r\n\r\n").into_bytes(),
        frame(TEXT, b"one "),
        frame(0x80 | PING, b"between"),
        frame(0, &fire[..2]),
        frame(0, b""),
        frame(0x80, &fire[2..]),
    ];
    client.send(parts.concat());
    let mut socket = Socket::begin(client, &server);
    assert_eq!(socket.frame(), Frame(true, PONG, b"between".to_vec()));
    socket.hear("one 🔥");
    // A byte at a time.
    for byte in frame(0x80 | TEXT, b"slow") {
        socket.client.send([byte]);
    }
    socket.hear("slow");
}

#[test]
fn subprotocols_are_the_apps_choice() {
    let server = serve_alone("websockets/server");
    let socket = Socket::open(&server, "/echo", &[("sec-websocket-protocol", "mqtt, chat")]);
    assert_eq!(socket.head.header("sec-websocket-protocol"), Some("chat"));
    let extensions = [("sec-websocket-protocol", "mqtt"), ("sec-websocket-extensions", "x-webkit-deflate-frame")];
    let socket = Socket::open(&server, "/echo", &extensions);
    assert_eq!(socket.head.header("sec-websocket-protocol"), None);
    assert_eq!(socket.head.header("sec-websocket-extensions"), None);
}

#[test]
fn goodbyes_go_both_ways() {
    let server = serve_alone("websockets/server");
    for (said, code, reason) in [("1000 fine", 1000, "fine"), ("1011 broken", 1011, "broken"), ("4999 x", 4999, "x")] {
        let mut socket = open(&server, "/goodbye");
        socket.say(said);
        server.expect("/next", "closing: 2");
        assert_eq!(socket.hear_goodbye(), (code, reason.to_owned()));
        // What was sent before the goodbye was heard is passed over.
        socket.say("1000 late");
        socket.send(CLOSE, goodbye(code, reason));
        assert_eq!(socket.client.rest(), b"");
        server.expect("/next", &format!("close: {code} {reason} true 3"));
    }
    let mut socket = open(&server, "/goodbye");
    socket.say("");
    assert_eq!(socket.frame(), Frame(true, CLOSE, Vec::new()));
    socket.send(CLOSE, "");
    server.expect("/next", "closing: 2");
    server.expect("/next", "close: 1005  true 3");
    // Everything that was sent before a goodbye is answered before it is.
    let mut socket = open(&server, "/echo");
    socket.client.send([frame(0x81, b"a"), frame(0x81, b"b"), frame(0x88, &goodbye(4000, ""))].concat());
    socket.hear("a");
    socket.hear("b");
    assert_eq!(socket.hear_goodbye(), (4000, String::new()));
    server.expect("/next", "close: 4000  true 3");
}

#[test]
fn a_peer_that_breaks_a_rule_is_told_which() {
    let server = serve_alone("websockets/server");
    let large = [&[0x82, 0xff][..], &((16u64 << 20) + 1).to_be_bytes(), &[0; 4]].concat();
    let broken: [(&[u8], u16, &str); 6] = [
        (b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", 1002, "a reserved bit is set"),
        (b"\x81\x05hello", 1002, "a frame is not masked"),
        (b"\x80\x80\0\0\0\0", 1002, "a continuation frame has no message to continue"),
        (b"\x88\x82\0\0\0\0\x03\xed", 1002, "the status code of a close frame is invalid"),
        (b"\x81\x81\0\0\0\0\xff", 1007, "text is not valid UTF-8"),
        (&large, 1009, "a message was larger than 16mb"),
    ];
    for (bytes, code, what) in broken {
        let mut socket = open(&server, "/echo");
        socket.client.send(bytes);
        assert_eq!(socket.hear_goodbye().0, code, "{what}");
        assert_eq!(socket.client.rest(), b"");
        let error = server.get("/next");
        assert!(error.text().starts_with("error: ") && error.text().contains(what), "{}", error.text());
        server.expect("/next", "close: 1006  false 3");
        server.expect("/next", "aborted");
    }
}

#[test]
fn requests_that_are_none_are_refused() {
    let server = serve_alone("websockets/server");
    let get = |headers: &[(&str, &str)]| {
        let mut client = server.connect();
        client.start("GET", "/echo", headers);
        client.reply()
    };
    let (connection, upgrade) = (("connection", "upgrade"), ("upgrade", "websocket"));
    let (version, key) = (("sec-websocket-version", "13"), ("sec-websocket-key", KEY));
    let old = get(&[connection, upgrade, key, ("sec-websocket-version", "8")]);
    old.assert_error(426, "websocket_version", &["13"]);
    assert_eq!((old.header("sec-websocket-version"), old.header("upgrade")), (Some("13"), Some("websocket")));
    get(&[connection, upgrade, version]).assert_error(400, "websocket_key", &["sec-websocket-key"]);
    let short = ("sec-websocket-key", "short");
    get(&[connection, upgrade, version, short]).assert_error(400, "websocket_key", &[]);
    // These ask for nothing, and are requests like any other.
    for headers in [&[version, key][..], &[upgrade, version, key], &[connection, version, key], &[connection, upgrade]]
    {
        let reply = get(headers);
        assert_eq!((reply.status, reply.text()), (426, "a WebSocket is expected"));
        assert_eq!(reply.header("upgrade"), Some("websocket"), "an app's 426 says to what");
    }
    let mut client = server.connect();
    client.start("POST", "/echo", &[connection, upgrade, version, key, ("content-length", "0")]);
    assert_eq!(client.reply().status, 426);
    // The connection goes on being HTTP's.
    assert_eq!(client.get("/echo").status, 426);
    server.get("/unasked").assert_error(426, "upgrade_required", &["upgrade: websocket"]);
    server.expect("/next", "close: 1006  false 3");
    server.expect("/next", "aborted");
}
