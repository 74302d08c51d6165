//! How sockets end: clients, limits, workers, versions and servers that go.

use std::time::Duration;

use hearth_sys::procfs::ProcStat;

use super::socket::{CLOSE, goodbye, open};
use crate::folder::{Folder, until};
use crate::server::{app, serve_alone, serve_with};

#[test]
fn a_disconnect_is_heard_and_aborts_the_request() {
    let server = serve_alone("websockets/server");
    let mut socket = open(&server, "/echo");
    socket.say("x");
    socket.hear("x");
    socket.client.disconnect();
    server.expect("/next", "close: 1006  false 3");
    server.expect("/next", "aborted");
    // No listener is attached to this one; its request must end all the same, or the program would not.
    open(&server, "/deaf").client.disconnect();
    let mut server = server;
    server.signal("-TERM");
    assert!(server.wait().0.success());
}

#[test]
fn each_message_has_the_cpu_limit_to_itself() {
    let server = serve_with("websockets/server", &["--workers", "1", "--cpu", "300ms"]);
    let mut socket = open(&server, "/limits");
    let used = || Duration::from_millis(ProcStat::read(server.cell()).unwrap().ticks * 10);
    let before = used();
    // Each takes less than the limit, all together twice as much: how many that are depends on the machine.
    while used() - before < Duration::from_millis(600) {
        socket.say("100");
        socket.hear("spun");
    }
}

/// The first long turn of an app: what runs after one has less of the machine.
#[test]
fn a_message_that_takes_for_ever_ends_its_worker() {
    let server = serve_with("websockets/server", &["--workers", "1", "--cpu", "300ms"]);
    let mut socket = open(&server, "/limits");
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
