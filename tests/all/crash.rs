//! What no limit inside the process can stop: it is reported while it lasts, and can be traced afterwards.

use crate::server::{AMPLE, run, scratch, serve_with};

#[test]
fn an_abort_can_be_traced_to_its_app() {
    let file = scratch("breadcrumbs").join("crumbs");
    let file = file.to_str().unwrap();
    let mut server = serve_with("crash/builtins", &["--breadcrumbs", file]);
    server.expect("/", "fine");
    let mut client = server.connect();
    client.start("GET", "/abort", &[]);
    assert_eq!(client.rest(), b"");
    let (status, log) = server.wait();
    assert_eq!(status.code(), None, "ended by a signal\n{log}");
    let told = run(&["breadcrumbs", file]);
    assert!(told.status.success(), "{}", told.stderr);
    assert!(told.stdout.contains("of builtins"), "{}", told.stdout);
    assert_eq!(told.stdout.lines().count(), 1, "only one thread ran anything: {}", told.stdout);
}

#[test]
fn a_process_that_stopped_has_no_breadcrumbs() {
    let file = scratch("no-breadcrumbs").join("crumbs");
    let file = file.to_str().unwrap();
    let mut server = serve_with("crash/builtins", &["--breadcrumbs", file]);
    server.expect("/", "fine");
    server.interrupt();
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{status}\n{log}");
    let told = run(&["breadcrumbs", file]);
    assert!(told.status.success() && told.stdout.is_empty(), "{}", told.stdout);
}

#[test]
fn a_file_that_holds_no_breadcrumbs_is_refused() {
    let file = scratch("not-breadcrumbs").join("crumbs");
    std::fs::write(&file, "something else").unwrap();
    let told = run(&["breadcrumbs", file.to_str().unwrap()]);
    assert!(!told.status.success());
    assert!(told.stderr.starts_with("hearth: "), "{}", told.stderr);
}

#[test]
fn a_stuck_turn_is_reported_and_its_owner_refused_until_it_ends() {
    let server = serve_with("crash/builtins", &["--cpu", "500ms", "--wall", AMPLE, "--workers", "2", "--threads", "2"]);
    server.expect("/", "fine");
    let mut client = server.connect();
    client.start("GET", "/stuck", &[("x-request-id", "the-stuck-one")]);
    let line = server.wait_log("turn is stuck");
    let (_, about) = line.split_once(" app=builtins request=").unwrap_or_else(|| panic!("{line}"));
    assert!(about.parse::<u64>().is_ok_and(|id| id > 0), "{line}");
    let refused = server.get("/");
    refused.assert_error(503, "stuck", &[]);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(client.reply().code(), "limit_cpu");
    let ended = server.wait_log("stuck turn ended");
    assert!(ended.ends_with(&format!(" app=builtins request={about}")), "{line}\n{ended}");
    server.expect("/", "fine");
}
