//! Sockets of apps to other servers.

use std::net::TcpListener;

use super::socket::open;
use crate::server::{serve_alone, serve_with};

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
    // The connection behind it was not lost, but the peer is gone.
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
