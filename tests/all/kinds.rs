//! Kinds of app: routes, files of the app's folder, hooks, and what an app is told about itself.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::client::Reply;
use crate::folder::ask;
use crate::server::{AMPLE, Server, apps, scratch, serve, serve_file, serve_with};

fn json(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{}", reply.text());
    serde_json::from_slice(&reply.body).unwrap()
}

fn send(server: &Server, method: &str, path: &str) -> Reply {
    let mut client = server.connect();
    client.start(method, path, &[]);
    if method == "HEAD" { client.head() } else { client.reply() }
}

#[test]
fn a_fixed_response_answers_any_number_of_times() {
    let server = serve("kinds/routes");
    let mut client = server.connect();
    for _ in 0..1000 {
        assert_eq!(client.get("/").text(), "root");
    }
    for _ in 0..3 {
        let plain = client.get("/plain");
        assert_eq!((plain.status, plain.text(), plain.header("x-kind")), (201, "always the same", Some("fixed")));
        let fixed = client.get("/json");
        assert_eq!((fixed.text(), fixed.header("content-type")), (r#"{"fixed":true}"#, Some("application/json")));
        assert_eq!(client.get("/bytes").body, [0, 1, 254, 255]);
        assert_eq!(client.get("/streamed").text(), "one two three", "a stream is read once");
        let blob = client.get("/blob");
        assert_eq!((blob.text(), blob.header("content-type")), ("<b>blob</b>", Some("text/html")));
        assert_eq!(client.get("/empty").status, 204);
    }
}

#[test]
fn handlers_get_what_fetch_gets() {
    let server = serve_with("kinds/routes", &["--env", "KEY=value"]);
    assert_eq!(json(&server.get("/handler?x=1")), json!(["GET", ["KEY"], "function", []]));
    server.expect("/this", "from the default export");
    server.get("/throws").assert_error(502, "app_failed", &[]);
    server.wait_log("in a route");
}

#[test]
fn the_most_specific_route_wins_and_parameters_are_decoded() {
    let server = serve("kinds/routes");
    let params = |path: &str| json(&server.get(path));
    assert_eq!(params("/users/7"), json!({ "id": "7" }));
    assert_eq!(params("/users/7?id=8"), json!({ "id": "7" }));
    assert_eq!(params("/users/a%20b%2Fc%C3%A9"), json!({ "id": "a b/cé" }));
    assert_eq!(params("/users/7/posts/x.y"), json!({ "id": "7", "post": "x.y" }));
    assert_eq!(params("/teams/best"), json!({ "kind": "teams" }));
    assert_eq!(params("/gr%C3%BC%C3%9Fe/du"), json!({ "name": "du" }));
    assert_eq!(params("/frozen/1"), json!([true, true, ["id"], true]));
    server.expect("/users/new", "exact");
    server.expect("/users/7/posts", "the rest of users");
    server.expect("/users/", "the rest of users");
    server.expect("/users/%ff", "the rest of users");
    server.expect("/files/x/raw", "one in between");
    server.expect("/x/../users/new", "exact");
    server.expect("/x/%2e%2e/users/./new", "exact");
    server.expect("/users", "fetch GET /users undefined");
    server.expect("/files//raw", "fetch GET /files//raw undefined");
    server.expect("/frozen/%ff", "fetch GET /frozen/%ff undefined");
}

#[test]
fn methods_choose_and_a_wrong_one_is_405() {
    let server = serve("kinds/routes");
    server.expect("/methods", "got");
    assert_eq!(server.post("/methods", "this").text(), "posted this");
    assert_eq!(send(&server, "DELETE", "/methods").text(), "deleted");
    assert_eq!(send(&server, "PATCH", "/methods").text(), "fetch PATCH /methods undefined");
    assert_eq!(json(&send(&server, "PUT", "/methods/9")), json!({ "id": "9" }));

    let head = send(&server, "HEAD", "/methods");
    assert_eq!((head.status, head.header("content-length")), (200, Some("3")), "HEAD is GET without its body");
    assert_eq!(send(&server, "HEAD", "/head").header("x-head"), Some("own"));

    let wrong = send(&server, "PUT", "/methods");
    wrong.assert_error(405, "method_not_allowed", &["PUT", "request_id"]);
    assert_eq!(wrong.header("allow"), Some("GET, POST, DELETE, PATCH, HEAD"));
    assert_eq!(send(&server, "OPTIONS", "/methods").text(), "fetch OPTIONS /methods undefined");
    assert_eq!(send(&server, "OPTIONS", "/options").text(), "own options");
}

#[test]
fn fetch_answers_what_routes_do_not() {
    let server = serve("kinds/routes");
    server.expect("/nowhere", "fetch GET /nowhere undefined");
    server.expect("/off", "fetch GET /off undefined");
    server.expect("/off/null", "fetch GET /off/null undefined");

    let alone = serve("kinds/routes_alone");
    alone.expect("/a", "a");
    alone.get("/off").assert_error(404, "no_route", &[]);
    let missing = alone.get("/nowhere");
    missing.assert_error(404, "no_route", &[]);
    let error: Value = serde_json::from_slice(&missing.body).unwrap();
    assert_eq!(error.pointer("/error/request_id").and_then(Value::as_str), missing.header("x-request-id"));
    assert_eq!(send(&alone, "OPTIONS", "/b").status, 405);
}

#[test]
fn routes_that_make_no_sense_are_load_errors_that_name_them() {
    for (case, words) in [
        ("bad_pattern", "'/users/:id.json' has ':id.json'"),
        ("bad_value", "'/wrong' must be a Response"),
        ("bad_method", "'/wrong' has the key 'get'"),
        ("same_paths", "'/a/:name' matches the same paths as '/a/:id'"),
        ("read_twice", "'/read' is a Response whose body has been read"),
    ] {
        let server = serve(&format!("kinds/{case}"));
        server.get("/").assert_error(502, "load_failed", &[]);
        server.wait_log(words);
    }
}

/// A copy of the app with files, with what cannot lie in a repository: a link to outside, an environment, a large file.
fn with_files(name: &str) -> PathBuf {
    let around = scratch(name);
    let folder = around.join("app");
    std::fs::create_dir_all(folder.join("public")).unwrap();
    for file in ["app.js", "public/page.html", "public/data.json", "public/digits.txt", "public/empty.txt"] {
        std::fs::copy(apps().join("kinds/files").join(file), folder.join(file)).unwrap();
    }
    std::fs::write(folder.join("public/large.bin"), large()).unwrap();
    std::fs::write(folder.join(".env"), "SECRET=1").unwrap();
    std::fs::write(around.join("secret.txt"), "secret").unwrap();
    std::os::unix::fs::symlink("../secret.txt", folder.join("link.txt")).unwrap();
    folder.join("app.js")
}

fn large() -> Vec<u8> {
    (0..3_000_000u32).map(|number| (number % 251) as u8).collect()
}

#[test]
fn files_are_routes_and_bodies() {
    let server = serve_file(&with_files("kinds-routes"), &[]);
    let page = "<!doctype html>\n<p>a page</p>\n";
    for _ in 0..3 {
        let reply = server.get("/page");
        assert_eq!((reply.status, reply.text()), (200, page));
        assert_eq!(reply.header("content-type"), Some("text/html;charset=utf-8"));
        assert_eq!(reply.header("content-length"), Some(page.len().to_string().as_str()));
    }
    let reply = server.get("/response");
    assert_eq!((reply.text(), reply.header("x-own")), (page, Some("header")));
    assert_eq!(reply.header("content-type"), Some("text/html;charset=utf-8"));
    for _ in 0..3 {
        let reply = server.get("/fixed");
        assert_eq!((reply.status, reply.text()), (202, r#"{"a":[1,2]}"#));
    }
    assert_eq!(server.get("/typed").header("content-type"), Some("text/x-digits"));
    let empty = server.get("/empty");
    assert_eq!((empty.status, empty.body.len(), empty.header("content-length")), (200, 0, Some("0")));
    assert!(server.get("/large").body == large(), "all bytes came");
    let head = send(&server, "HEAD", "/large");
    assert_eq!((head.status, head.header("content-length")), (200, Some("3000000")));
    let part = server.get("/part");
    assert_eq!((part.text(), part.header("content-length")), ("23456", Some("5")));
    server.expect("/url", "0123456789");
    server.expect("/dirname", "0123456789");
}

#[test]
fn parts_of_files_can_be_had() {
    let server = serve_file(&with_files("kinds-parts"), &[]);
    let whole = server.get("/typed");
    assert_eq!((whole.status, whole.header("accept-ranges"), whole.text()), (200, Some("bytes"), "0123456789"));
    for (path, range, part) in
        [("/typed", "bytes=2-4", "234"), ("/url", "bytes=-3", "789"), ("/part", "bytes=1-1", "3")]
    {
        let reply = ask(&server, "GET", path, &[("range", range)]);
        assert_eq!((reply.status, reply.text()), (206, part), "{path} {range}");
        assert_eq!(reply.header("content-length"), Some(part.len().to_string().as_str()));
    }
    let last = ask(&server, "GET", "/large", &[("range", "bytes=2999990-")]);
    assert_eq!((last.status, last.header("content-range")), (206, Some("bytes 2999990-2999999/3000000")));
    assert!(last.body == large()[2_999_990..]);
    let beyond = ask(&server, "GET", "/typed", &[("range", "bytes=10-")]);
    assert_eq!((beyond.status, beyond.header("content-range"), beyond.text()), (416, Some("bytes */10"), ""));
    let other = ask(&server, "GET", "/typed", &[("range", "bytes=2-4"), ("if-range", "\"another\"")]);
    assert_eq!((other.status, other.text()), (200, "0123456789"));
    assert_eq!(ask(&server, "GET", "/fixed", &[("range", "bytes=0-0")]).status, 202);
    let mut head = server.connect();
    head.start("HEAD", "/typed", &[("range", "bytes=2-4")]);
    assert_eq!(head.head().status, 200);
}

#[test]
fn a_client_that_reads_slowly_or_leaves_does_no_harm() {
    let server = serve_file(&with_files("kinds-slow"), &["--workers", "1"]);
    let mut slow = server.connect();
    slow.start("GET", "/large", &[]);
    assert_eq!(slow.head().header("content-length"), Some("3000000"));
    let mut gone = server.connect();
    gone.start("GET", "/large", &[]);
    gone.head();
    gone.disconnect();
    assert_eq!(server.get("/large").body.len(), 3_000_000);
    assert!(slow.exactly(3_000_000) == large());
}

#[test]
fn what_is_missing_or_refused_is_404_as_a_route() {
    let server = serve_file(&with_files("kinds-missing"), &[]);
    for path in ["/missing", "/folder", "/outside", "/link", "/environment"] {
        server.get(path).assert_error(404, "not_found", &[]);
    }
    server.get("/response/missing").assert_error(502, "app_failed", &[]);
    server.wait_log("There is no file './public/nothing.html'");
    server.expect("/typed", "0123456789");
}

#[test]
fn files_are_blobs() {
    let server = serve_file(&with_files("kinds-blobs"), &[]);
    let expected = json!([
        10, "text/plain;charset=utf-8", "./public/digits.txt", true, true, "number", ["0123456789", "0123456789"],
        10, 10, { "a": [1, 2] },
        "0123456789", "3456789", "678", 0, "0123456789", "0123456789",
    ]);
    assert_eq!(json(&server.get("/methods")), expected);
    let no_file = "NotFoundError: There is no file 'nothing.txt' in the app's folder";
    let outside = |path: &str| format!("NotAllowedError: '{path}' lies outside the app's folder");
    let expected = json!([
        0,
        false,
        no_file,
        no_file,
        outside("../secret.txt"),
        false,
        outside("link.txt"),
        "NotAllowedError: '.env' is not for reading: the environment is in env",
        "TypeError: This is a file that has not been read: use what its bytes() gives",
        "TypeError: Illegal constructor",
        "TypeError: Failed to execute 'file' on 'Hearth': 1 argument required, but only 0 present",
    ]);
    assert_eq!(json(&server.get("/refused")), expected);
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let server = serve_file(&with_files("kinds-escapes"), &[]);
    server.expect("/any/public%2Fdigits.txt", "0123456789");
    for path in [
        "..%2Fsecret.txt",
        "%2F..%2Fsecret.txt",
        "public%2F..%2F..%2Fsecret.txt",
        "link.txt",
        "%2Fetc%2Fpasswd",
        "..%2F..%2F..%2F..%2F..%2F..%2F..%2F..%2Fetc%2Fpasswd",
        "%252e%252e%252Fsecret.txt",
        "..%5Csecret.txt",
        "public%2Fdigits.txt%00.png",
        "%00",
        ".env",
        "public%2F..%2F.env",
        "file:%2F%2F%2Fetc%2Fpasswd",
        "file:%2F%2F%2F..%2Fsecret.txt",
        "file:%2F%2F%2F%252e%252e%2Fsecret.txt",
        "file:%2F%2F%2F..%252Fsecret.txt",
    ] {
        let reply = server.get(&format!("/any/{path}"));
        assert_eq!(reply.status, 403, "{path}: {}", reply.text());
        assert!(!reply.text().contains("root:") && reply.text() != "secret", "{path}: {}", reply.text());
    }
}

#[test]
fn hearth_app_names_the_app_and_cannot_be_forged() {
    let server = serve_with("kinds/about", &["--workers", "1"]);
    let about = json(&server.get("/app"));
    assert_eq!((&about["name"], &about["version"]), (&json!("about"), &json!("latest")));
    let worker = about["worker"].as_str().unwrap().to_owned();
    assert!(!worker.is_empty());
    assert_eq!(json(&server.get("/app"))["worker"], json!(worker), "the same worker has the same id");
    let refused = "TypeError";
    let expected = json!([refused, refused, refused, refused, refused, true, true, true, "about"]);
    assert_eq!(json(&server.get("/forged")), expected);
    let members = [
        "file",
        "serve",
        "env",
        "deflateSync",
        "escapeHTML",
        "fileURLToPath",
        "gc",
        "gunzipSync",
        "gzipSync",
        "inflateSync",
        "inspect",
        "nanoseconds",
        "password",
        "pathToFileURL",
        "readableStreamToArray",
        "readableStreamToArrayBuffer",
        "readableStreamToBlob",
        "readableStreamToBytes",
        "readableStreamToJSON",
        "readableStreamToText",
        "sleep",
        "stripANSI",
    ];
    assert_eq!(json(&server.get("/bun")), json!([true, members]));

    let recycled = serve_with("kinds/about", &["--workers", "1", "--max-requests", "1"]);
    let ids = [0, 1, 2].map(|_| json(&recycled.get("/app"))["worker"].as_str().unwrap().to_owned());
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "each worker has its own: {ids:?}");
}

#[test]
fn console_lines_say_whose_they_are() {
    let server = serve("kinds/about");
    let mut client = server.connect();
    client.start("GET", "/log", &[("x-request-id", "the-clients-own-id")]);
    assert_eq!(client.reply().text(), "logged");
    let line = server.wait_log("a line of the app");
    for part in ["app=", "about", "version=", "latest", "the-clients-own-id"] {
        assert!(line.contains(part), "no {part} in {line}");
    }
}

/// How many lines of the log have `text` in them.
fn lines(server: &Server, text: &str) -> usize {
    server.log().lines().filter(|line| line.contains(text)).count()
}

#[test]
fn an_idle_worker_hears_of_it_once_and_of_its_end() {
    let server = serve_with("kinds/hooks", &["--workers", "1", "--idle-timeout", "50ms"]);
    server.expect("/", "1");
    server.wait_log("hooks idle after 1 requests, true, function");
    server.wait_log("terminated after 1 requests");
    assert_eq!(lines(&server, "idle after 1 requests"), 1, "once in an idle time:\n{}", server.log());
    server.expect("/", "1");
}

#[test]
fn a_worker_that_goes_in_good_order_hears_of_its_end() {
    let worn = serve_with("kinds/hooks", &["--workers", "1", "--max-requests", "3"]);
    for _ in 0..4 {
        assert_eq!(worn.get("/").status, 200);
    }
    worn.wait_log("terminated after");

    for mode in ["pooled", "pinned"] {
        let mut stopped = serve_with("kinds/hooks", &["--workers", "1", "--execution", mode]);
        stopped.expect("/", "1");
        stopped.interrupt();
        let (status, log) = stopped.wait();
        assert!(status.success(), "{log}");
        assert!(log.contains("terminated after 1 requests"), "{mode}:\n{log}");
    }
    for mode in ["oneshot", "shared"] {
        let server = serve_with("kinds/hooks", &["--execution", mode]);
        server.expect("/", "1");
        server.wait_log("terminated after 1 requests");
    }
}

#[test]
fn hooks_may_be_exports_of_their_own_and_their_errors_are_logged() {
    let mut server = serve_with("kinds/hooks_named", &["--workers", "1", "--idle-timeout", "50ms"]);
    server.expect("/", "answered");
    server.wait_log("onIdle failed");
    server.wait_log("no idea what to do");
    server.wait_log("the named hook ran");
    server.expect("/", "answered");
    server.interrupt();
    assert!(server.wait().0.success());
}

#[test]
fn a_hook_that_does_not_end_is_cut_off_and_a_kill_is_no_orderly_end() {
    let mut server = serve_with("kinds/hooks_slow", &["--workers", "1", "--cpu", "500ms", "--wall", AMPLE]);
    server.get("/loop").assert_error(503, "limit_cpu", &[]);
    assert_eq!(lines(&server, "begins to end"), 0, "it was killed");
    server.expect("/", "answered");
    server.interrupt();
    let (status, log) = server.wait();
    assert!(status.success(), "{log}");
    assert_eq!(log.lines().filter(|line| line.contains("begins to end")).count(), 1, "{log}");
    assert!(log.contains("onTerminate was not done after 1 s"), "{log}");
}

#[test]
fn pages_of_a_worker_are_told_where_the_app_begins_if_it_wants() {
    let code = r#"
        const page = (html) => new Response(html, { headers: { "content-type": "text/html; charset=utf-8" } });
        const later = (text) => new Promise((resolve) => setTimeout(() => resolve(new TextEncoder().encode(text)), 1));
        export default {
            routes: { "/route": page("<head></head>route"), "/file": Hearth.file("page.html") },
            async fetch(request) {
                if (request.url.endsWith("/text")) return new Response("<head></head>");
                if (request.url.endsWith("/own")) return page("<head><base href=/own/></head>");
                if (!request.url.endsWith("/stream")) return page("<!doctype html><head></head>whole");
                const pieces = ["<!doctype html><he", "ad></head>", "streamed"];
                return page(new ReadableStream({
                    async pull(controller) {
                        if (pieces.length === 0) return controller.close();
                        controller.enqueue(await later(pieces.shift()));
                    },
                }));
            },
        };
    "#;
    let folder = crate::folder::Folder::with(
        "base",
        &[
            ("shop/index.js", code),
            ("shop/page.html", "<head></head>file"),
            ("shop/manifest.yaml", "injectBase: true\n"),
            ("plain/index.js", code),
            ("plain/page.html", "<head></head>file"),
        ],
    );
    let server = folder.serve(&[]);
    let base = "<base href=\"/shop/\">";
    server.expect("/shop/", &format!("<!doctype html><head>{base}</head>whole"));
    server.expect("/shop/stream", &format!("<!doctype html><head>{base}</head>streamed"));
    server.expect("/shop/route", &format!("<head>{base}</head>route"));
    server.expect("/shop/file", &format!("<head>{base}</head>file"));
    server.expect("/shop/text", "<head></head>");
    server.expect("/shop/own", "<head><base href=/own/></head>");
    server.expect("/plain/", "<!doctype html><head></head>whole");
    server.expect("/plain/route", "<head></head>route");
}
