//! Ctrl-C: requests in flight finish, no new ones are accepted, and the program exits with 0.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::server::{PATIENCE, serve_alone, serve_with};

#[test]
fn requests_in_flight_are_finished() {
    let mut server = serve_alone("shutdown/slow");
    let (mut waiting, mut streaming) = (server.connect(), server.connect());
    streaming.start("GET", "/stream", &[]);
    assert_eq!(streaming.head().status, 200);
    assert_eq!(streaming.text_chunk(), "begun");
    waiting.start("GET", "/wait", &[]);
    server.expect("/come", "come");
    server.interrupt();
    server.wait_log("Stopping");
    assert_eq!(waiting.reply().text(), "finished");
    assert_eq!(streaming.text_chunk(), "finished");
    assert_eq!(streaming.chunk(), None);
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("Stopped"), "{log}");
}

#[test]
fn promises_of_wait_until_are_finished() {
    let mut server = serve_alone("shutdown/slow");
    server.expect("/later", "answered");
    server.interrupt();
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("the work after the response is done"), "{log}");
}

#[test]
fn new_connections_are_refused() {
    let mut server = serve_with("shutdown/slow", &["--workers", "1", "--wall", "50s", "--drain-timeout", "50s"]);
    let (mut idle, mut busy) = (server.connect(), server.connect());
    assert_eq!(idle.get("/").text(), "at once");
    busy.start("GET", "/never", &[]);
    server.expect("/come", "come");
    server.interrupt();
    assert_eq!(idle.rest(), b"", "idle connections are closed");
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(server.address()).is_ok() {
        assert!(Instant::now() < deadline && server.is_running(), "it still listens:\n{}", server.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(server.is_running(), "a response in progress is not cut off:\n{}", server.log());
    busy.disconnect();
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{status}\n{log}");
}

#[test]
fn requests_that_do_not_end_are_dropped() {
    let mut server = serve_with("shutdown/slow", &["--workers", "1", "--drain-timeout", "200ms"]);
    let mut client = server.connect();
    client.start("GET", "/never", &[]);
    server.expect("/come", "come");
    server.interrupt();
    assert_eq!(client.rest(), b"");
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{status}\n{log}");
}

#[test]
fn a_second_interrupt_ends_at_once() {
    let mut server = serve_with("shutdown/slow", &["--workers", "1", "--drain-timeout", "50s"]);
    let mut client = server.connect();
    client.start("GET", "/never", &[]);
    server.expect("/come", "come");
    server.interrupt();
    server.wait_log("Stopping");
    server.interrupt();
    assert_eq!(server.wait().0.code(), Some(130));
}
