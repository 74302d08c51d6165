//! Which handler gets an event, what it may answer, and what becomes of one that fails.

use crate::server::{Server, serve, serve_with};

#[test]
fn a_listener_answers_with_respond_with() {
    serve("handlers/listener_respond_with").expect("/", "responded");
}

#[test]
fn a_listener_answers_with_what_it_returns() {
    serve("handlers/listener_return").expect("/", "returned");
}

#[test]
fn an_async_listener_answers_with_respond_with() {
    serve("handlers/listener_async_respond_with").expect("/", "responded");
}

#[test]
fn an_async_listener_answers_with_what_it_returns() {
    serve("handlers/listener_async_return").expect("/", "returned");
}

#[test]
fn respond_with_works_after_an_await() {
    serve("handlers/listener_respond_after_await").expect("/", "responded late");
}

#[test]
fn respond_with_wins_over_return() {
    serve("handlers/listener_respond_and_return").expect("/", "responded");
}

#[test]
fn the_first_respond_with_counts() {
    let server = serve("handlers/listener_respond_twice");
    server.expect("/", "first");
    server.wait_log("second respondWith: InvalidStateError");
}

#[test]
fn a_listener_that_says_nothing_is_an_error() {
    let server = serve("handlers/listener_silent");
    server.get("/").assert_error(502, "app_failed", &[]);
    server.wait_log("no listener called respondWith");
}

#[test]
fn the_first_listener_that_answers_counts() {
    let server = serve("handlers/listener_several");
    server.expect("/first", "first");
    server.expect("/other", "second");
}

#[test]
fn a_default_object_answers() {
    serve("handlers/default_sync").expect("/", "sync");
}

#[test]
fn an_async_default_object_answers() {
    serve("handlers/default_async").expect("/", "async");
}

#[test]
fn a_default_function_answers() {
    serve("handlers/default_function").expect("/", "function");
}

#[test]
fn an_async_default_function_answers() {
    serve("handlers/default_async_function").expect("/", "arrow GET");
}

#[test]
fn a_default_class_answers() {
    serve_with("handlers/default_class", &["--env", "NAME=with env"]).expect("/", "class with env");
}

#[test]
fn a_handler_has_its_object_as_this() {
    serve("handlers/default_this").expect("/", "this is kept");
}

#[test]
fn the_default_handler_wins_over_a_listener() {
    serve("handlers/default_and_listener").expect("/", "default");
}

#[test]
fn a_listener_wins_over_an_empty_default() {
    serve("handlers/empty_default_and_listener").expect("/", "listener");
}

#[test]
fn a_handler_gets_request_env_and_context() {
    serve_with("handlers/arguments", &["--env", "NAME=value"]).expect("/", "true value function 0");
}

/// One test for each kind of module that has no handler.
macro_rules! no_handler {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                let server = serve(concat!("handlers/", stringify!($name)));
                for _ in 0..2 {
                    server.get("/").assert_error(501, "no_handler", &["fetch"]);
                }
            }
        )*
    };
}

no_handler! {
    no_handler_empty no_handler_null no_handler_number no_handler_string no_handler_not_a_function
    no_handler_scheduled_only no_handler_nothing no_handler_script
}

/// All requests are answered 502, and the log says why.
#[track_caller]
fn assert_not_loaded(case: &str, reason: &[&str]) -> Server {
    let server = serve(case);
    let line = server.wait_log("App failed to start");
    for _ in 0..2 {
        let reply = server.get("/");
        reply.assert_error(502, "load_failed", &[]);
        for part in reason {
            assert!(!reply.text().contains(part), "the app's own words are for the log: {}", reply.text());
        }
    }
    let log = server.log();
    for part in reason {
        assert!(log.contains(part), "{line}\nno {part:?} in\n{log}");
    }
    server
}

#[test]
fn a_syntax_error_is_reported_with_its_place() {
    assert_not_loaded("handlers/syntax_error", &["/app.ts:5:"]);
}

#[test]
fn a_syntax_error_in_javascript_is_reported_with_its_place() {
    assert_not_loaded("handlers/syntax_error_js", &["twice", "/app.js:4:"]);
}

#[test]
fn a_module_that_throws_is_reported_with_its_typescript_line() {
    assert_not_loaded("handlers/module_throws", &["cannot reach db.internal", "/app.ts:6:9", "/app.ts:11:1"]);
}

#[test]
fn a_rejected_top_level_await_is_reported() {
    assert_not_loaded("handlers/module_rejects", &["RangeError: rejected at the top", "/app.js:1:"]);
}

#[test]
fn a_missing_import_is_reported() {
    assert_not_loaded("handlers/missing_import", &["./gone.js", "/app.js"]);
}

#[test]
fn a_handler_that_throws_is_logged_with_its_typescript_line() {
    let server = serve("handlers/handler_throws");
    server.expect("/", "served 1");
    let reply = server.get("/throw");
    reply.assert_error(502, "app_failed", &[]);
    assert!(!reply.text().contains("no order"), "{}", reply.text());
    server.wait_log("no order 7");
    server.wait_log("/app.ts:5:27");
    server.wait_log("/app.ts:12:");
    server.expect("/", "served 3");
}

#[test]
fn in_development_clients_see_the_error() {
    let server = serve_with("handlers/handler_throws", &["--dev"]);
    server.get("/throw").assert_error(502, "app_failed", &["no order 7", "/app.ts:5:27"]);
}

#[test]
fn whatever_a_handler_fails_with_is_answered() {
    let server = serve("handlers/handler_fails");
    for (path, logged) in [
        ("/reject", "TypeError: rejected"),
        ("/string", "just text"),
        ("/null", "null"),
        ("/undefined", "no Response but undefined"),
        ("/object", "no Response but {"),
        ("/getter", "app failed"),
        ("/error_response", "Response.error(), which cannot be sent"),
        ("/missing", "TypeError"),
    ] {
        server.get(path).assert_error(502, "app_failed", &[]);
        server.wait_log(logged);
        server.expect("/ok", "fine");
    }
}

#[test]
fn status_headers_and_body_are_the_apps_own() {
    let server = serve("handlers/response_parts");
    let made = server.get("/created");
    assert_eq!((made.status, made.reason.as_str(), made.text()), (201, "Made", "made"));
    assert_eq!((made.header("x-custom"), made.headers("content-type")), (Some("yes"), vec!["text/css"]));
    for path in ["/empty", "/empty_text"] {
        let empty = server.get(path);
        assert_eq!((empty.status, empty.header("content-length"), empty.text()), (200, Some("0"), ""), "{path}");
    }
    assert_eq!(server.get("/bytes").body, [0, 255, 10]);
    let json = server.get("/json");
    assert_eq!((json.header("content-type"), json.text()), (Some("application/json"), r#"{"a":[1,"ü"]}"#));
    let redirect = server.get("/redirect");
    assert_eq!((redirect.status, redirect.header("location")), (307, Some("https://example.com/there")));
    let blob = server.get("/blob");
    assert_eq!((blob.header("content-type"), blob.text()), (Some("text/x-blob"), "blobs"));
    let params = server.get("/params");
    let form = Some("application/x-www-form-urlencoded;charset=UTF-8");
    assert_eq!((params.header("content-type"), params.text()), (form, "a=1+2"));
}

#[test]
fn a_request_can_be_seen_whole() {
    let server = serve("handlers/request_parts");
    let mut client = server.connect();
    client.start("PUT", "/a%20b/c?q=%C3%BC", &[("x-custom", "one"), ("X-CUSTOM", "two"), ("content-length", "4")]);
    client.send("body");
    let expected = r#"{"method":"PUT","path":"/a%20b/c","query":"ü","host":"test","custom":"one, two","body":"body"}"#;
    assert_eq!(client.reply().text(), expected);
}
