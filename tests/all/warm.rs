//! What a context keeps from request to request, what it does not, and when it is given up.

use crate::server::{AMPLE, serve_alone, serve_with};

#[test]
fn module_state_persists() {
    let server = serve_alone("warm/counter");
    for count in 1..=20 {
        server.expect("/", &count.to_string());
    }
}

#[test]
fn module_state_persists_over_one_connection() {
    let server = serve_alone("warm/counter");
    let mut client = server.connect();
    for count in 1..=20 {
        assert_eq!(client.get("/").text(), count.to_string());
    }
}

#[test]
fn timers_end_with_their_request() {
    let server = serve_alone("warm/interval");
    server.expect("/start", "started");
    server.expect("/quiet", "nothing ticks");
}

#[test]
fn nothing_of_a_response_is_left_for_the_next() {
    let server = serve_alone("warm/clean");
    let rich = server.get("/rich");
    assert_eq!((rich.status, rich.reason.as_str(), rich.header("x-left")), (418, "Teapot", Some("behind")));
    let plain = server.get("/plain");
    assert_eq!((plain.status, plain.reason.as_str(), plain.text()), (200, "OK", "plain"));
    assert_eq!((plain.header("x-left"), plain.header("set-cookie")), (None, None));
}

#[test]
fn a_context_is_used_again_after_wait_until() {
    let server = serve_alone("warm/wait_until");
    server.expect("/", "1");
    server.expect("/", "2");
}

#[test]
fn a_context_is_used_again_after_a_rejected_wait_until() {
    let server = serve_alone("warm/wait_until");
    server.expect("/reject", "1");
    server.wait_log("in the background");
    server.expect("/", "2");
}

#[test]
fn two_requests_interleave_in_one_context() {
    let server = serve_with("warm/rendezvous", &["--workers", "1", "--threads", "1"]);
    let (mut first, mut second) = (server.connect(), server.connect());
    first.start("GET", "/ada", &[]);
    second.start("GET", "/bea", &[]);
    let mut texts = [first.reply(), second.reply()].map(|reply| reply.text().to_owned());
    texts.sort();
    assert_eq!(texts, ["ada met bea", "bea met ada"]);
}

/// Requests that are answered while another one's code runs must not be left behind: a worker has only so many places.
#[test]
fn requests_that_others_answer_leave_no_trace() {
    let server = serve_with("warm/rendezvous", &["--workers", "1", "--concurrency", "8"]);
    for round in 0..50 {
        let (mut first, mut second) = (server.connect(), server.connect());
        first.start("GET", "/x", &[]);
        second.start("GET", "/x", &[]);
        assert_eq!([first.reply().text(), second.reply().text()], ["x met x"; 2], "round {round}");
    }
}

#[test]
fn requests_share_what_one_of_them_started() {
    let server = serve_alone("warm/shared_promise");
    let mut clients: Vec<_> = (0..20).map(|_| server.connect()).collect();
    clients.iter_mut().for_each(|client| client.start("GET", "/", &[]));
    for mut client in clients {
        assert_eq!(client.reply().text(), "shared");
    }
    server.expect("/started", "1");
}

#[test]
fn requests_of_two_workers_on_one_thread_do_not_meet() {
    let flags = ["--workers", "1", "--threads", "1"];
    let (one, two) = (serve_with("warm/counter", &flags), serve_with("warm/rendezvous", &flags));
    let mut waiting = two.connect();
    waiting.start("GET", "/ada", &[]);
    one.expect("/", "1");
    two.expect("/bea", "bea met ada");
    assert_eq!(waiting.reply().text(), "ada met bea");
}

#[test]
fn an_uncaught_error_replaces_the_worker() {
    let server = serve_alone("warm/uncaught");
    server.expect("/", "1");
    server.expect("/uncaught", "2");
    server.wait_log("not caught anywhere");
    server.expect("/", "1");
}

#[test]
fn an_unhandled_rejection_replaces_the_worker() {
    let server = serve_alone("warm/uncaught");
    server.expect("/", "1");
    server.expect("/unhandled", "2");
    server.wait_log("not handled anywhere");
    server.expect("/", "1");
}

#[test]
fn a_limit_replaces_the_worker() {
    let server = serve_with("warm/limit", &["--workers", "1", "--cpu", "500ms", "--wall", AMPLE]);
    server.expect("/", "1");
    server.get("/loop").assert_error(503, "limit_cpu", &[]);
    server.expect("/", "1");
    server.expect("/", "2");
}

#[test]
fn large_buffered_bodies_arrive_whole() {
    let server = serve_alone("warm/bodies");
    let text = "0123456789abcdef".repeat(64 * 1024);
    for _ in 0..3 {
        assert!(server.get("/").text() == text);
        assert!(server.get("/json").text() == format!(r#"{{"text":"{text}"}}"#));
    }
}
