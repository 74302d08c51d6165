//! What an app can reach, and what it cannot: the environment, the runtime's insides, other requests.

use crate::server::{apps, serve, serve_alone, serve_file, serve_with};

#[test]
fn env_holds_what_was_given_and_nothing_else() {
    let server = serve_with("isolation/env", &["--env", "KEY=value", "--env", "EMPTY=", "--env", "EQUALS=a=b"]);
    server.expect("/all", r#"{"EMPTY":"","EQUALS":"a=b","KEY":"value"}"#);
    serve("isolation/env").expect("/all", "{}");
}

#[test]
fn env_is_frozen() {
    let server = serve_with("isolation/env", &["--env", "KEY=value"]);
    server.expect("/frozen", r#"[true,"TypeError","TypeError","TypeError","value"]"#);
}

#[test]
fn there_is_no_other_way_to_the_environment() {
    let server = serve("isolation/env");
    server.expect("/elsewhere", r#"["undefined","undefined","undefined"]"#);
}

#[test]
fn process_has_the_apps_environment_and_passes_for_nodes() {
    let server = serve_with("isolation/env", &["--env", "KEY=value"]);
    server.expect(
        "/process",
        r#"[{"NODE_ENV":"production","PORT":"8080","KEY":"value"},true,"changed","value","string","/","linux"]"#,
    );
    server.expect("/tick", "1,2,3");
    serve_with("isolation/script", &["--env", "KEY=value"]).expect("/", "value,true");
}

#[test]
fn no_globals_with_underscores() {
    serve("isolation/globals").expect("/underscores", "");
}

#[test]
fn internals_cannot_be_reached() {
    let server = serve("isolation/globals");
    server.expect("/internals", "");
    server.expect("/leaks", "");
    server.expect("/constructors", "TypeError,TypeError,TypeError,TypeError,TypeError,TypeError");
}

#[test]
fn async_hooks_exports_its_own_only() {
    let names =
        "AsyncLocalStorage,AsyncResource,createHook,default,executionAsyncId,executionAsyncResource,triggerAsyncId";
    serve("isolation/globals").expect("/hooks", names);
}

#[test]
fn shared_memory_cannot_be_reached() {
    let server = serve("isolation/globals");
    let reply = server.get("/shared");
    let mut parts = reply.text().split(',');
    assert_eq!((parts.next(), parts.next()), (Some("undefined"), Some("undefined")));
    assert_eq!(parts.next(), Some("TypeError"));
    // A getter that lies is asked once: what comes is not shared.
    assert!(matches!(parts.next(), Some("[object ArrayBuffer]" | "TypeError")), "{}", reply.text());
    for part in parts {
        assert_eq!(part, "TypeError", "{}", reply.text());
    }
    let by_module = server.get("/shared_by_module");
    assert!(!by_module.text().contains("SharedArrayBuffer"), "{}", by_module.text());
}

#[test]
fn call_sites_give_nothing_away() {
    let server = serve("isolation/globals");
    let reply = server.get("/stack");
    assert!(!reply.text().contains("object") && !reply.text().contains("function"), "{}", reply.text());
    let reply = server.get("/caller");
    assert!(["TypeError", "null", "undefined"].contains(&reply.text()), "{}", reply.text());
}

/// Apps that overwrite built-ins get right answers where they do not use them.
fn assert_unharmed(overwritten: &str) {
    let file = apps().join(format!("isolation/overwrite/{overwritten}.js"));
    let server = serve_file(&file, &["--workers", "1"]);
    for _ in 0..2 {
        server.expect("/1", "text");
        server.expect("/2", "streamed");
        assert_eq!(server.post("/3", "echoed").text(), "echoed");
        assert_eq!(server.post("/4", "read").text(), "read");
        let mut client = server.connect();
        client.start_chunked("/4");
        client.send_chunk("in ");
        client.send_chunk("chunks");
        client.send_last_chunk();
        assert_eq!(client.reply().text(), "in chunks");
        client.start("GET", "/5", &[("x-custom", "a header")]);
        assert_eq!(client.reply().text(), "a header");
        server.expect("/6", "logged");
    }
    server.wait_log("logged");
    assert!(!server.log().contains("the app broke this"), "{}", server.log());
}

macro_rules! unharmed {
    ($($name:ident $overwritten:literal)*) => {
        $(
            #[test]
            fn $name() {
                assert_unharmed($overwritten);
            }
        )*
    };
}

unharmed! {
    overwrite_array "array"
    overwrite_promise "promise"
    overwrite_classes "classes"
    overwrite_maps "maps"
    overwrite_objects "objects"
    overwrite_prototype "prototype"
}

#[test]
fn timers_belong_to_their_request() {
    let server = serve_alone("isolation/timers");
    server.expect("/own", "cleared");
    let mut client = server.connect();
    client.start("GET", "/wait", &[]);
    server.expect("/clear", "cleared");
    assert_eq!(client.reply().text(), "fired");
}

#[test]
fn local_storage_follows_each_of_ten_interleaved_requests() {
    let server = serve_alone("isolation/storage");
    let mut clients: Vec<_> = (0..10).map(|_| server.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.start("GET", &format!("/{number}"), &[]);
    }
    for (number, mut client) in clients.into_iter().enumerate() {
        let own = format!("/{number}");
        let expected = [&own, "inner", "undefined", &own, &own, &own, &own, &own].join(",");
        assert_eq!(client.reply().text(), expected);
    }
}

#[test]
fn what_belongs_to_a_request_ends_with_it() {
    let server = serve_alone("isolation/over");
    assert_eq!(server.post("/keep", vec![b'x'; 100_000]).text(), "kept");
    let reply = server.get("/use");
    assert_eq!(reply.status, 200, "{}", reply.text());
    let used: Vec<_> = reply.text().split(',').collect();
    assert_eq!(used[1], "TypeError", "its body is gone: {used:?}");
    server.expect("/stream", "made");
    let given = server.get("/give");
    assert!(given.text() == "of another" || given.status == 502, "{given:?}");
    server.expect("/stream", "made");
}
