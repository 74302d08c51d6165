//! WebSockets: of clients, between parts of an app, and to other servers.

use std::net::TcpListener;

use crate::client::{Client, Reply};
use crate::folder::{Folder, until};
use crate::server::{Server, app, serve_alone, serve_with};

const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// The client's side of a WebSocket, frame by frame.
struct Socket {
    client: Client,
    head: Reply,
}

/// A frame as it came: whether it is its message's last, its kind, and what is in it.
#[derive(Debug, PartialEq, Eq)]
struct Frame(bool, u8, Vec<u8>);

fn ask(client: &mut Client, path: &str, more: &[(&str, &str)]) {
    let asking = [("connection", "keep-alive, Upgrade"), ("upgrade", "WebSocket"), ("sec-websocket-version", "13")];
    client.start("GET", path, &[&asking[..], &[("sec-websocket-key", KEY)], more].concat());
}

fn open(server: &Server, path: &str) -> Socket {
    Socket::open(server, path, &[])
}

/// Masked, as clients must.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
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

fn goodbye(code: u16, reason: &str) -> Vec<u8> {
    [&code.to_be_bytes()[..], reason.as_bytes()].concat()
}

// === impl Socket ===

impl Socket {
    #[track_caller]
    fn open(server: &Server, path: &str, more: &[(&str, &str)]) -> Self {
        let mut client = server.connect();
        ask(&mut client, path, more);
        Self::begin(client, server)
    }

    #[track_caller]
    fn begin(mut client: Client, server: &Server) -> Self {
        let head = client.head();
        assert_eq!(head.status, 101, "{head:?}; the log:\n{}", server.log());
        assert_eq!(head.header("upgrade"), Some("websocket"));
        assert_eq!(head.header("connection"), Some("Upgrade"));
        assert_eq!(head.header("sec-websocket-accept"), Some(ACCEPT));
        assert_eq!(head.header("content-length"), None);
        Self { client, head }
    }

    fn send(&mut self, kind: u8, payload: impl AsRef<[u8]>) {
        self.client.send(frame(0x80 | kind, payload.as_ref()));
    }

    fn say(&mut self, text: &str) {
        self.send(TEXT, text);
    }

    fn frame(&mut self) -> Frame {
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
    fn hear(&mut self, text: &str) {
        assert_eq!(self.frame(), Frame(true, TEXT, text.as_bytes().to_vec()));
    }

    /// The code and the reason that the server says goodbye with.
    #[track_caller]
    fn hear_goodbye(&mut self) -> (u16, String) {
        let Frame(true, CLOSE, payload) = self.frame() else { panic!("no goodbye") };
        (u16::from_be_bytes([payload[0], payload[1]]), String::from_utf8(payload[2..].to_vec()).unwrap())
    }

    /// Says goodbye and is answered; the connection ends.
    #[track_caller]
    fn close(mut self, code: u16, reason: &str) {
        self.send(CLOSE, goodbye(code, reason));
        assert_eq!(self.hear_goodbye(), (code, reason.to_owned()));
        assert_eq!(self.client.rest(), b"");
    }
}

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
fn every_mode_has_sockets() {
    for mode in ["pooled", "pinned", "oneshot", "shared"] {
        let mut server = serve_with("websockets/server", &["--execution", mode]);
        for _ in 0..2 {
            let mut socket = open(&server, "/echo");
            for text in ["one", "two"] {
                socket.say(text);
                socket.hear(text);
            }
            socket.close(1000, mode);
        }
        let mut socket = open(&server, "/echo");
        server.signal("-TERM");
        assert_eq!(socket.hear_goodbye().0, 1001, "{mode}");
        socket.send(CLOSE, goodbye(1001, ""));
        assert!(server.wait().0.success(), "{mode}");
    }
}

#[test]
fn messages_are_what_the_app_wants_them_to_be() {
    let server = serve_alone("websockets/server");
    let mut socket = open(&server, "/kinds");
    socket.say("12");
    socket.hear("String 2");
    socket.send(BINARY, "123");
    socket.hear("ArrayBuffer 3");
    socket.say("blob");
    socket.send(BINARY, "123");
    socket.hear("Blob 3");
    socket.say("view");
    assert_eq!(socket.frame(), Frame(true, BINARY, vec![1, 2]));
    socket.say("send blob");
    assert_eq!(socket.frame(), Frame(true, BINARY, b"ab".to_vec()));
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
    let extensions = [("sec-websocket-protocol", "mqtt"), ("sec-websocket-extensions", "permessage-deflate")];
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
fn who_breaks_the_rules_is_told_which() {
    let server = serve_alone("websockets/server");
    let large = [&[0x82, 0xff][..], &((16u64 << 20) + 1).to_be_bytes(), &[0; 4]].concat();
    let broken: [(&[u8], u16, &str); 6] = [
        (b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", 1002, "a reserved bit is set"),
        (b"\x81\x05hello", 1002, "a frame is not masked"),
        (b"\x80\x80\0\0\0\0", 1002, "a continuation continues nothing"),
        (b"\x88\x82\0\0\0\0\x03\xed", 1002, "the code of a goodbye is wrong"),
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

#[test]
fn many_sockets_share_a_room() {
    let server = serve_alone("websockets/server");
    let mut sockets: Vec<Socket> = Vec::new();
    for count in 1..=20 {
        let mut socket = open(&server, "/room");
        socket.hear(&count.to_string());
        sockets.push(socket);
    }
    for speaker in [0, 7, 19] {
        let text = format!("{speaker} speaks");
        sockets[speaker].say(&text);
        sockets.iter_mut().for_each(|socket| socket.hear(&text));
    }
    // Half of them go, in both ways.
    for (number, socket) in sockets.drain(..10).enumerate() {
        if number % 2 == 0 {
            socket.close(1000, "");
            server.expect("/next", "close: 1000  true 3");
        } else {
            socket.client.disconnect();
            server.expect("/next", "close: 1006  false 3");
            server.expect("/next", "aborted");
        }
    }
    let mut socket = open(&server, "/room");
    socket.hear("11");
    socket.say("who is left");
    sockets.iter_mut().chain([&mut socket]).for_each(|socket| socket.hear("who is left"));
}

#[test]
fn two_parts_of_an_app_speak_to_each_other() {
    let heard = r#"["other heard hello","other heard bye","one heard HELLO","one heard BYE","other closed 4000 enough","one closed 4000 enough"]"#;
    let server = serve_alone("websockets/server");
    let reply: Vec<String> = serde_json::from_slice(&server.get("/conversation").body).unwrap();
    let mut sorted = reply.clone();
    sorted.sort();
    let mut expected: Vec<String> = serde_json::from_str(heard).unwrap();
    expected.sort();
    assert_eq!(sorted, expected, "{reply:?}");
    // Each hears in order.
    for name in ["one ", "other "] {
        let own = |list: &[String]| list.iter().filter(|line| line.starts_with(name)).cloned().collect::<Vec<_>>();
        assert_eq!(own(&reply), own(&serde_json::from_str::<Vec<String>>(heard).unwrap()));
    }
}

#[test]
fn misuse_has_names() {
    let server = serve_alone("websockets/server");
    let reply: serde_json::Value = serde_json::from_slice(&server.get("/misuse").body).unwrap();
    let expected = serde_json::json!({
        "keys": "0,1",
        "kind": "[object WebSocket]",
        "state": 1,
        "binaryType": "arraybuffer",
        "sendUnaccepted": "TypeError",
        "closeUnaccepted": "TypeError",
        "respondAccepted": "TypeError",
        "respondOther": "TypeError",
        "respond200": "RangeError",
        "respondWithout": "RangeError",
        "respondBody": "TypeError",
        "respond": "fine",
        "clone": "TypeError",
        "acceptTwice": "fine",
        "close500": "InvalidAccessError",
        "close1006": "InvalidAccessError",
        "closeLong": "SyntaxError",
        "close1011": "fine",
        "sendClosed": "TypeError",
        "closeAgain": "fine",
        "ordinary": true,
    });
    assert_eq!(reply, expected);
    drop(open(&server, "/twice"));
    let mut client = server.connect();
    ask(&mut client, "/twice", &[]);
    client.reply().assert_error(502, "app_failed", &[]);
    server.wait_log("was handed on in another Response already");
}

#[test]
fn a_disconnect_is_heard_and_aborts_the_request() {
    let server = serve_alone("websockets/server");
    let mut socket = open(&server, "/echo");
    socket.say("x");
    socket.hear("x");
    socket.client.disconnect();
    server.expect("/next", "close: 1006  false 3");
    server.expect("/next", "aborted");
    // Nobody listens to this one; its request must end all the same, or the program would not.
    open(&server, "/deaf").client.disconnect();
    let mut server = server;
    server.signal("-TERM");
    assert!(server.wait().0.success());
}

#[test]
fn listeners_that_throw_are_logged_and_the_socket_stays() {
    let server = serve_alone("websockets/server");
    let mut socket = open(&server, "/throws");
    for text in ["throw", "reject", "fine"] {
        socket.say(text);
        socket.hear(&format!("still here: {text}"));
    }
    server.wait_log("thrown by a listener");
    server.wait_log("rejected by a listener");
    // The worker stays, too: a room would be torn apart.
    socket.say("again");
    socket.hear("still here: again");
    socket.close(1000, "");
    server.expect("/next", "close: 1000  true 3");
}

#[test]
fn timers_and_contexts_are_the_requests_own() {
    let server = serve_alone("websockets/server");
    let mut socket = open(&server, "/context");
    for text in ["one", "two"] {
        socket.say(text);
        socket.hear(&format!("the context of context: {text}"));
    }
}

#[test]
fn what_close_gives_to_wait_until_is_waited_for() {
    let server = serve_alone("websockets/server");
    open(&server, "/late").close(1000, "");
    server.expect("/next", "close: 1000  true 3");
    server.expect("/next", "waited");
    open(&server, "/late").client.disconnect();
    server.expect("/next", "close: 1006  false 3");
    server.expect("/next", "aborted");
    server.expect("/next", "waited");
}

#[test]
fn each_message_has_the_cpu_limit_to_itself() {
    let server = serve_with("websockets/server", &["--workers", "1", "--cpu", "2s"]);
    let mut socket = open(&server, "/limits");
    for _ in 0..6 {
        socket.say("500");
        socket.hear("spun");
    }
    let mut other = open(&server, "/echo");
    other.say("x");
    other.hear("x");
    socket.say("for ever");
    // All sockets of the worker go with it.
    assert_eq!(socket.hear_goodbye().0, 1011);
    assert_eq!(other.hear_goodbye().0, 1011);
    server.wait_log("CPU time limit exceeded");
    let mut socket = open(&server, "/echo");
    socket.say("another worker");
    socket.hear("another worker");
}

#[test]
fn a_worker_that_is_replaced_sends_its_sockets_away() {
    let server = serve_alone("websockets/server");
    let mut socket = open(&server, "/echo");
    socket.say("x");
    socket.hear("x");
    server.expect("/retire", "retiring");
    assert_eq!(socket.hear_goodbye(), (1001, "the app is being replaced".to_owned()));
    socket.send(CLOSE, goodbye(1001, ""));
    assert_eq!(socket.client.rest(), b"");
    let mut socket = open(&server, "/echo");
    socket.say("another worker");
    socket.hear("another worker");
}

#[test]
fn a_version_that_is_replaced_sends_its_sockets_away() {
    let code = std::fs::read_to_string(app("websockets/server")).unwrap();
    let folder = Folder::with("sockets", &[("chat/index.js", &code)]);
    let server = folder.serve(&[]);
    until(&server, "/chat/echo", |reply| reply.status == 426);
    let mut socket = open(&server, "/chat/echo");
    socket.say("x");
    socket.hear("x");
    folder.write("chat/index.js", code.replace("socket.send(data)", "socket.send(`new ${data}`)"));
    assert_eq!(socket.hear_goodbye(), (1001, "the app is being replaced".to_owned()));
    let mut socket = open(&server, "/chat/echo");
    socket.say("x");
    socket.hear("new x");
}

#[test]
fn silence_has_a_limit() {
    let server = serve_with("websockets/server", &["--workers", "1", "--stream-timeout", "1s"]);
    let mut socket = open(&server, "/echo");
    assert_eq!(socket.hear_goodbye().0, 1001);
    assert_eq!(socket.client.rest(), b"");
    server.wait_log("silence of a stream limit exceeded");
    assert!(server.get("/next").text().starts_with("error: no message came or went"));
    server.expect("/next", "close: 1006  false 3");
    server.expect("/next", "aborted");
}

#[test]
fn a_client_that_does_not_read_is_given_up() {
    let server = serve_alone("websockets/server");
    let mut socket = open(&server, "/flood");
    socket.say("go");
    // The kernel takes some megabytes, then we hold one more, then it is over.
    let mut told: Vec<String> = (0..4).map(|_| server.get("/next").text().to_owned()).collect();
    told.sort();
    assert_eq!(told[..3], ["aborted", "bounded", "close: 1006  false 3"]);
    assert!(told[3].starts_with("error: the peer reads too slowly"), "{told:?}");
    // What it would have got is cut off somewhere.
    assert!(!socket.client.rest().is_empty());
}

#[test]
fn a_server_that_stops_says_goodbye() {
    let mut server = serve_alone("websockets/server");
    let mut sockets = ["/echo", "/room", "/deaf"].map(|path| open(&server, path));
    sockets[0].say("x");
    sockets[0].hear("x");
    sockets[1].hear("1");
    server.signal("-TERM");
    for socket in &mut sockets {
        assert_eq!(socket.hear_goodbye(), (1001, "the server is shutting down".to_owned()));
        socket.send(CLOSE, goodbye(1001, ""));
        assert_eq!(socket.client.rest(), b"");
    }
    let (status, log) = server.wait();
    assert!(status.success(), "{log}");
}

#[test]
fn what_new_websocket_takes() {
    let server = serve_with("websockets/client", &["--workers", "1", "--egress", "none"]);
    let reply: serde_json::Value = serde_json::from_slice(&server.get("/construct").body).unwrap();
    let expected = serde_json::json!({
        "constants": "0,1,2,3",
        "instance": "0,1,2,3",
        "none": "TypeError",
        "fragment": "SyntaxError",
        "ftp": "SyntaxError",
        "garbage": "SyntaxError",
        "http": "ws://127.0.0.1:1/",
        "https": "wss://127.0.0.1:1/x?y",
        "protocol": "SyntaxError",
        "protocols": "SyntaxError",
        "state": 0,
        "binaryType": "blob",
        "sendEarly": "InvalidStateError",
        "accept": "TypeError",
        "close500": "InvalidAccessError",
        "close1011": "InvalidAccessError",
        "longReason": "SyntaxError",
        "close": "fine",
        "closing": 2,
    });
    assert_eq!(reply, expected);
}

#[test]
fn apps_speak_to_other_servers() {
    let backend = serve_alone("websockets/server");
    let server = serve_with("websockets/client", &["--workers", "1", "--egress", "all"]);
    let url = format!("ws://{}/echo", backend.address());
    let talk = r#"["open  1","text from true","Blob 3","close 3001 done true 3"]"#;
    server.expect(&format!("/talk?url={url}"), talk);
    server.expect(&format!("/talk?url={url}&protocol=chat"), &talk.replace("open  1", "open chat 1"));
    for _ in 0..2 {
        backend.expect("/next", "close: 3001 done true 3");
    }
    let none_chosen = r#"["error the server chose none of the subprotocols","close 1006  false 3"]"#;
    server.expect(&format!("/talk?url={url}&protocol=mqtt"), none_chosen);
    backend.expect("/next", "close: 1001 the app is gone true 3");
    let refused = server.get(&format!("/talk?url=ws://{}/misuse", backend.address()));
    assert!(refused.text().contains("status 200"), "{}", refused.text());
    let http = format!("http://{}/echo", backend.address());
    server.expect(&format!("/fetch?url={http}"), r#"[101,"websockets",1,"by fetch",1001]"#);
    backend.expect("/next", "close: 1001  true 3");
    server.expect(&format!("/fetch?url=http://{}/retire", backend.address()), r#"[200,"retiring"]"#);
}

#[test]
fn an_app_may_pass_a_socket_on() {
    let backend = serve_alone("websockets/server");
    let server = serve_with("websockets/client", &["--workers", "1", "--egress", "all"]);
    let mut socket = open(&server, &format!("/proxy?url=http://{}/echo", backend.address()));
    assert_eq!(socket.head.header("x-app"), Some("websockets"));
    for text in ["through", &"x".repeat(100_000)] {
        socket.say(text);
        socket.hear(text);
    }
    socket.close(4000, "through and through");
    backend.expect("/next", "close: 4000 through and through true 3");
    let socket = open(&server, &format!("/proxy?url=http://{}/echo", backend.address()));
    socket.client.disconnect();
    // The connection behind it was not lost, but nobody is there any more.
    backend.expect("/next", "close: 1001 the app is gone true 3");
}

#[test]
fn the_policy_holds_for_sockets_and_connecting_can_be_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ws://{}/", listener.local_addr().unwrap());
    let server = serve_with("websockets/client", &["--workers", "1"]);
    let denied = server.get(&format!("/talk?url={url}"));
    assert!(denied.text().contains("egress") && denied.text().contains("close 1006"), "{}", denied.text());
    // The listener never answers; the app does not wait for it.
    let server = serve_with("websockets/client", &["--workers", "1", "--egress", "all"]);
    server.expect(&format!("/cancel?url={url}"), "1006");
}
