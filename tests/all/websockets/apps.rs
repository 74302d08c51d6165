//! What an app's code sees of its sockets.

use super::socket::{BINARY, CLOSE, Frame, Socket, ask, goodbye, open};
use crate::server::{serve_alone, serve_with};

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
    socket.say("still here");
    sockets.iter_mut().chain([&mut socket]).for_each(|socket| socket.hear("still here"));
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
