//! The admin API: access, answers and errors.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::client::{Client, Reply};
use crate::folder::{Folder, eventually, says};
use crate::program::Program;
use crate::server::{Server, TOKEN, scratch};

/// Echoes as the body comes: a request of it is in flight for as long as its client wants.
const ECHO: &str = "export default { fetch: (request) => new Response(request.body) };";

fn hello(name: &str, flags: &[&str]) -> (Folder, Server) {
    let folder = Folder::with(name, &[("hello@1.2.3/index.js", &says("hello")), ("echo/index.js", ECHO)]);
    let server = folder.serve(flags);
    (folder, server)
}

/// A request of the admin API, with nothing but these headers.
fn bare(server: &Server, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let mut client = Client::connect(&server.admin());
    let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    client.send(format!("{method} {path} HTTP/1.1\r\ncontent-length: {}\r\n{lines}\r\n{body}", body.len()));
    client.reply()
}

#[test]
fn the_token_lets_in_and_nothing_else_does() {
    let (_folder, server) = hello("admin-token", &[]);
    let with = |value: &str| bare(&server, "GET", "/admin/apps", &[("host", "h"), ("authorization", value)], "");
    assert_eq!(with(&format!("Bearer {TOKEN}")).status, 200);
    for wrong in ["Bearer", "Bearer ", "Bearer wrong", &format!("Basic {TOKEN}"), &format!("Bearer {TOKEN}2")] {
        let refused = with(wrong);
        refused.assert_error(401, "unauthorized", &["Authorization: Bearer"]);
        assert_eq!(refused.header("www-authenticate"), Some("Bearer"), "{wrong}");
        assert_eq!(refused.header("cache-control"), Some("no-store"));
    }
    for path in ["/admin/apps", "/admin/pool", "/metrics", "/openapi.json", "/admin/nothing"] {
        bare(&server, "GET", path, &[("host", "h")], "").assert_error(401, "unauthorized", &[]);
    }
    for path in ["/health/live", "/health/ready", "/"] {
        assert_eq!(bare(&server, "GET", path, &[("host", "h")], "").status, 200, "{path}");
    }
    // What is public has none of it, token or not.
    for path in ["/admin/apps", "/admin/drain", "/metrics", "/openapi.json", "/health/ready"] {
        let mut client = server.connect();
        client.start("GET", path, &[("authorization", &format!("Bearer {TOKEN}"))]);
        client.reply().assert_error(404, "no_app", &[]);
    }
    server.get("/_hearth/admin").assert_error(404, "not_found", &[]);
}

#[test]
fn a_browser_logs_in_once_and_from_our_own_pages() {
    let (_folder, server) = hello("admin-login", &[]);
    let admin = server.admin();
    let origin = format!("http://{admin}");
    let ours = [("host", admin.as_str()), ("origin", origin.as_str())];
    let log_in = |headers: &[(&str, &str)], token: &str| bare(&server, "POST", "/admin/login", headers, token);
    assert_eq!(log_in(&ours, "wrong").status, 401);
    for foreign in
        [[("host", "evil.example"), ("origin", "http://evil.example")], [ours[0], ("origin", "http://evil.example")]]
    {
        log_in(&foreign, TOKEN).assert_error(403, "foreign_origin", &[]);
    }
    let entered = log_in(&ours, TOKEN);
    assert_eq!(entered.status, 200);
    let cookie = entered.header("set-cookie").unwrap().to_owned();
    assert!(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains(TOKEN), "the cookie is no token");
    let cookie = cookie.split(';').next().unwrap();

    let with = |method: &str, path: &str, headers: &[(&str, &str)]| {
        bare(&server, method, path, &[headers, &[("cookie", cookie)]].concat(), "")
    };
    assert_eq!(with("GET", "/admin/apps", &ours).status, 200);
    assert_eq!(with("GET", "/admin/apps", &ours[..1]).status, 200, "a browser need not send an origin with GET");
    for foreign in [
        [ours[0], ("origin", "http://evil.example")],
        [ours[0], ("origin", "null")],
        [("host", "evil.example"), ("origin", "http://evil.example")],
        [("host", "evil.example"), ours[1]],
    ] {
        with("POST", "/admin/drain", &foreign).assert_error(403, "foreign_origin", &[]);
    }
    let other = [ours[0], ("cookie", "hearth_admin=0123456789abcdef")];
    assert_eq!(bare(&server, "GET", "/admin/apps", &other, "").status, 401);

    let left = with("POST", "/admin/logout", &ours);
    assert_eq!(left.status, 200);
    assert!(left.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(with("GET", "/admin/apps", &ours).status, 401, "the session is over, whatever the browser keeps");
}

#[test]
fn what_is_wrong_is_said_in_json() {
    let (_folder, server) = hello("admin-errors", &[]);
    let ask = |method: &str, path: &str| server.ask(method, path, "");
    ask("GET", "/admin/nothing").assert_error(404, "not_found", &["/admin/nothing", "/openapi.json"]);
    ask("GET", "/admin/apps/hello/nothing").assert_error(404, "not_found", &[]);
    let wrong = ask("DELETE", "/admin/pool");
    wrong.assert_error(405, "method_not_allowed", &["DELETE"]);
    assert_eq!(wrong.header("allow"), Some("GET"));
    ask("PATCH", "/admin/apps/hello").assert_error(405, "method_not_allowed", &["GET, DELETE"]);
    ask("POST", "/admin/apps").assert_error(400, "invalid_argument", &["`name`"]);
    ask("POST", "/admin/apps?name=x").assert_error(400, "invalid_argument", &["`version`"]);
    ask("POST", "/admin/apps/hello/activate").assert_error(400, "invalid_argument", &["`version`"]);
    ask("POST", "/admin/apps/hello/activate?version=9.9.9").assert_error(404, "no_version", &["hello", "9.9.9"]);
    ask("POST", "/admin/apps/hello/activate?version=nine").assert_error(400, "invalid_argument", &["nine"]);
    ask("POST", "/admin/apps/hello/rollback").assert_error(409, "nothing_to_roll_back", &["hello"]);
    ask("DELETE", "/admin/apps/hello?version=1.2.3").assert_error(409, "not_uploaded", &["hello@1.2.3"]);
    for (method, path) in [
        ("GET", "/admin/apps/missing"),
        ("DELETE", "/admin/apps/missing"),
        ("POST", "/admin/apps/missing/rollback"),
        ("POST", "/admin/apps/missing/task"),
        ("PUT", "/admin/apps/missing/secrets/KEY"),
        ("POST", "/admin/apps/missing/tokens"),
    ] {
        ask(method, path).assert_error(404, "no_app", &["missing"]);
    }
    ask("GET", "/admin/logs?lines=many").assert_error(400, "invalid_argument", &["`lines`", "many"]);
    ask("GET", "/admin/logs?follow=maybe").assert_error(400, "invalid_argument", &["`follow`", "maybe"]);
    server.ask("POST", "/admin/apps/hello/task", "{").assert_error(400, "invalid_argument", &["JSON"]);
    server.ask("PUT", "/admin/apps/hello/secrets/A", [0xff]).assert_error(400, "invalid_argument", &["UTF-8"]);
    let long = "x".repeat((1 << 20) + 1);
    server.ask("PUT", "/admin/apps/hello/secrets/A", long).assert_error(413, "body_too_large", &["1mb"]);
    ask("DELETE", "/admin/apps/hello/secrets/NONE").assert_error(404, "not_found", &["NONE"]);
    ask("DELETE", "/admin/apps/hello/tokens/77").assert_error(404, "not_found", &["77"]);
    ask("DELETE", "/admin/apps/hello/tokens/x").assert_error(400, "invalid_argument", &["number"]);
    server.expect("/hello/", "hello");
}

#[test]
fn all_that_the_document_names_is_there() {
    let (_folder, mut server) = hello("admin-openapi", &[]);
    let document = server.ask_json("GET", "/openapi.json", "");
    let mut asked = 0;
    for (path, methods) in document["paths"].as_object().expect("the document has paths") {
        // Each name in braces is an app's, a key's or a number.
        let filled = path.replace("{name}", "hello").replace("{app}", "hello").replace("{owner}", "hello");
        let filled = filled.replace("{sandbox}", "hello").replace("{job}", "7");
        let filled: String =
            filled.split('{').map(|part| part.split_once('}').map_or(part, |(_, rest)| rest)).collect();
        let filled = if path.contains("{key}") || path.contains("{id}") { format!("{filled}7") } else { filled };
        for method in methods.as_object().unwrap().keys() {
            let method = method.to_uppercase();
            if !["GET", "PUT", "POST", "DELETE"].contains(&method.as_str()) || path == "/admin/drain" {
                continue;
            }
            let mut client = Client::connect(&server.admin());
            let token = format!("Bearer {TOKEN}");
            client.start(&method, &filled, &[("authorization", &token), ("content-length", "0")]);
            let head = client.head();
            assert_ne!(head.status, 405, "{method} {path}");
            // A stream never ends, and is there.
            if head.status == 404 {
                let length = head.header("content-length").unwrap().parse().unwrap();
                let body = String::from_utf8(client.exactly(length)).unwrap();
                assert!(!body.contains("in the admin API"), "{method} {path}: {body}");
            }
            asked += 1;
        }
    }
    assert!(asked > 20, "only {asked} were asked for");
    let last = server.ask("POST", "/admin/drain", "");
    assert_eq!((last.status, last.text()), (202, r#"{"draining":true}"#));
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{log}");
}

#[test]
fn the_numbers_are_those_of_the_requests() {
    let (_folder, server) = hello("admin-numbers", &["--workers", "1"]);
    let mut client = server.connect();
    for _ in 0..10 {
        assert_eq!(client.get("/hello/").text(), "hello");
    }
    let numbers = server.ask_json("GET", "/admin/metrics", "");
    let mut keys: Vec<&str> = numbers.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    let mut expected = [
        "activeWorkers",
        "avgResponseTimeMs",
        "evictions",
        "hitRate",
        "hits",
        "memoryUsageMB",
        "misses",
        "requestsPerSecond",
        "totalRequests",
        "totalWorkersCreated",
        "totalWorkersFailed",
        "totalWorkersRetired",
        "uptimeMs",
    ];
    expected.sort_unstable();
    assert_eq!(keys, expected);
    for (key, value) in [
        ("activeWorkers", 1.0),
        ("evictions", 0.0),
        ("hitRate", 90.0),
        ("hits", 9.0),
        ("misses", 1.0),
        ("totalRequests", 10.0),
        ("totalWorkersCreated", 1.0),
        ("totalWorkersFailed", 0.0),
        ("totalWorkersRetired", 0.0),
    ] {
        assert_eq!(numbers[key].as_f64(), Some(value), "{key} of {numbers}");
    }
    for key in ["avgResponseTimeMs", "memoryUsageMB", "uptimeMs"] {
        assert!(numbers[key].as_f64().unwrap() > 0.0, "{key} of {numbers}");
    }

    let workers = server.ask_json("GET", "/admin/workers", "");
    let [worker] = workers.as_array().unwrap().as_slice() else { panic!("one worker: {workers}") };
    assert_eq!((&worker["app"], &worker["version"]), (&Value::from("hello"), &Value::from("1.2.3")));
    assert_eq!((&worker["requestCount"], &worker["errorCount"]), (&Value::from(10), &Value::from(0)));
    assert_eq!(worker["status"], "active");
    assert!(worker["id"].is_string());
    let (average, total) =
        (worker["avgResponseTimeMs"].as_f64().unwrap(), worker["totalResponseTimeMs"].as_f64().unwrap());
    assert!((average * 10.0 - total).abs() < 1e-6 && total > 0.0, "{worker}");
    assert!(worker["ageMs"].is_u64() && worker["idleMs"].is_u64(), "{worker}");

    let pool = server.report();
    assert_eq!((&pool["hits"], &pool["misses"]), (&Value::from(9), &Value::from(1)));
    assert_eq!(pool["hit_rate"].as_f64(), Some(0.9));
    let whole = ["total", "cached", "capacity"].map(|key| pool[key].as_u64().unwrap());
    assert_eq!(whole[0], whole[1] + whole[2], "{pool}");

    let app = server.ask_json("GET", "/admin/apps/hello", "");
    assert_eq!((&app["name"], &app["active"]), (&Value::from("hello"), &Value::from("1.2.3")));
    let version = &app["versions"][0];
    assert_eq!((&version["state"], &version["source"]), (&Value::from("served"), &Value::from("folder")));
    assert_eq!(server.ask_json("GET", "/admin/apps", "")["apps"].as_array().unwrap().len(), 2);
}

#[test]
fn a_server_that_serves_and_does_not_drain_is_ready() {
    let (_folder, mut server) = hello("admin-ready", &["--drain-timeout", "60s"]);
    let health = |path: &str| bare(&server, "GET", path, &[("host", "h")], "").status;
    assert_eq!((health("/health/live"), health("/health/ready")), (200, 200));
    let mut client = server.connect();
    client.start_chunked("/echo/");
    client.send_chunk("held");
    assert_eq!(client.head().status, 200);
    assert_eq!(client.text_chunk(), "held");
    assert_eq!(server.ask("POST", "/admin/drain", "").status, 202);
    assert_eq!((health("/health/live"), health("/health/ready")), (200, 503));
    server.ask("POST", "/admin/apps/hello/task", "").text();
    client.send_last_chunk();
    assert_eq!(client.chunk(), None);
    assert_eq!(server.wait().0.code(), Some(0));
}

#[test]
fn a_drain_can_be_undone_until_its_end() {
    let (_folder, mut server) = hello("admin-undo", &["--drain-timeout", "10m"]);
    let ready = || bare(&server, "GET", "/health/ready", &[("host", "h")], "").status;
    let mut client = server.connect();
    client.start_chunked("/echo/");
    client.send_chunk("held");
    assert_eq!(client.head().status, 200);
    assert_eq!(client.text_chunk(), "held");
    let not_draining = server.ask("DELETE", "/admin/drain", "");
    assert_eq!((not_draining.status, not_draining.text()), (200, r#"{"draining":false}"#));
    for _ in 0..2 {
        assert_eq!(server.ask("POST", "/admin/drain", "").status, 202);
        assert_eq!(ready(), 503);
        eventually(&server, "requests are refused", || server.get("/hello/").status == 503);
        let refused = server.get("/hello/");
        refused.assert_error(503, "draining", &[]);
        assert_eq!(refused.header("retry-after"), Some("1"));
        assert_eq!(server.ask("DELETE", "/admin/drain", "").text(), r#"{"draining":false}"#);
        assert_eq!(ready(), 200);
        eventually(&server, "requests are let in", || server.get("/hello/").status == 200);
        client.send_chunk("still");
        assert_eq!(client.text_chunk(), "still");
    }
    assert_eq!(server.ask("POST", "/admin/drain", "").status, 202);
    client.send_last_chunk();
    assert_eq!(client.chunk(), None);
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0));
    assert_eq!(log.matches("drain undone").count(), 2, "{log}");
}

#[test]
fn a_token_is_made_once_and_kept_to_oneself() {
    let folder = Folder::with("admin-made-token", &[("hello/index.js", &says("hello"))]);
    let data = scratch("admin-made-token-data");
    let arguments =
        ["serve", folder.path().to_str().unwrap(), "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data"];
    let arguments = [&arguments[..], &[data.to_str().unwrap()]].concat();
    let tokens = ["first", "second"].map(|start| {
        let mut program = Program::start(&format!("admin-made-token-{start}"), &arguments);
        let admin = program.address("Admin API on http://");
        let file = data.join("admin.token");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let token = std::fs::read_to_string(&file).unwrap().trim().to_owned();
        assert!(token.len() >= 32, "{token}");
        assert!(!program.log().contains(&token), "it is in the log");
        let mut client = Client::connect(&admin);
        client.start("GET", "/admin/apps", &[("authorization", &format!("Bearer {token}"))]);
        assert_eq!(client.reply().status, 200);
        program.signal("-TERM");
        assert_eq!(program.wait().code(), Some(0));
        token
    });
    assert_eq!(tokens[0], tokens[1]);
    std::fs::remove_dir_all(data).unwrap();
}
