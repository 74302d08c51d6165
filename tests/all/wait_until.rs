//! `waitUntil`: the response does not wait for it, and it goes on after the response.

use crate::server::serve_alone;

#[test]
fn the_response_does_not_wait() {
    let server = serve_alone("wait_until/gate");
    // Nothing settles the promise before the response is here.
    server.expect("/start", "started");
    server.expect("/open", "opened");
    server.expect("/done", "done");
}

#[test]
fn timers_go_on_after_the_response() {
    let server = serve_alone("wait_until/timer");
    server.expect("/start", "started");
    server.expect("/done", "after three timers");
}

#[test]
fn many_promises_are_waited_for() {
    let server = serve_alone("wait_until/many");
    server.expect("/start", "started");
    server.expect("/done", "50");
}

#[test]
fn a_rejected_promise_keeps_the_response() {
    let server = serve_alone("wait_until/rejected");
    server.expect("/", "fine");
    server.wait_log("lost in the background");
    server.expect("/", "fine");
}

#[test]
fn a_rejected_promise_does_not_cut_off_the_others() {
    let server = serve_alone("wait_until/mixed");
    server.expect("/start", "started");
    server.expect("/done", "the second is done");
    server.wait_log("the first fails");
}

#[test]
fn wait_until_within_wait_until() {
    let server = serve_alone("wait_until/nested");
    server.expect("/start", "started");
    server.expect("/done", "nested");
}

#[test]
fn an_event_has_wait_until_too() {
    let server = serve_alone("wait_until/listener");
    server.expect("/start", "started");
    server.expect("/done", "event.waitUntil");
}

#[test]
fn wait_until_goes_on_after_a_stream() {
    let server = serve_alone("wait_until/streaming");
    server.expect("/start", "streamed");
    server.expect("/done", "after the stream");
}

#[test]
fn a_handler_that_throws_has_its_wait_until() {
    let server = serve_alone("wait_until/failed_handler");
    server.get("/start").assert_error(502, "app_failed", &[]);
    server.expect("/done", "done all the same");
}

#[test]
fn wait_until_goes_on_after_a_disconnect() {
    let server = serve_alone("wait_until/disconnected");
    let mut client = server.connect();
    client.start("GET", "/start", &[]);
    server.expect("/begun", "begun");
    client.disconnect();
    server.expect("/done", "done without a client");
}
