//! Apps made of packages from npm.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::packages::packages;
use crate::server::{Server, apps, serve_file};

/// The folder with the packages and the apps.
fn installed() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| packages(&apps().join("npm"), "npm"))
}

fn serve(entry: &str) -> Server {
    serve_file(&installed().join(entry), &["--cpu", "20s", "--env", "NAME=npm"])
}

#[test]
fn hono() {
    let server = serve("hono.ts");
    server.expect("/", "Hello Hono!");
    server.expect("/users/7?full=yes", r#"{"id":"7","full":"yes","env":"npm"}"#);
    for (body, status, expected) in
        [(r#"{"name":"Ada"}"#, 200, r#"{"name":"Ada"}"#), (r#"{"name":"A"}"#, 400, "the name is too short")]
    {
        let mut client = server.connect();
        let length = body.len().to_string();
        client.start("POST", "/echo", &[("content-type", "application/json"), ("content-length", &length)]);
        client.send(body);
        let reply = client.reply();
        assert_eq!((reply.status, reply.text()), (status, expected));
    }
    let missing = server.get("/nowhere");
    assert_eq!((missing.status, missing.text()), (404, "not here"));
    let failed = server.get("/throw");
    assert_eq!((failed.status, failed.text()), (500, "handled: thrown"));
    let cookie = server.get("/cookie");
    assert_eq!(cookie.header("set-cookie"), Some("visited=yes; Path=/; HttpOnly"));
    assert_eq!(cookie.header("x-powered-by"), Some("Hono"), "its middleware ran");
    assert_eq!(server.get("/page").text(), "<!DOCTYPE html><p>Hello &lt;you&gt;</p>");
    assert_eq!(server.get("/stream").text(), "0123");
    let events = server.get("/events");
    assert_eq!(events.header("content-type"), Some("text/event-stream"));
    assert_eq!(events.text(), "event: tick\ndata: 0\nid: 0\n\nevent: tick\ndata: 1\nid: 1\n\n");
}

#[test]
fn itty_router() {
    let server = serve("itty.js");
    server.expect("/", "Hello itty!");
    server.expect("/todos/3", r#"{"id":"3","query":null}"#);
    assert_eq!(server.post("/todos", r#"{"title":"x"}"#).text(), r#"{"made":"x"}"#);
    let missing = server.get("/nowhere");
    assert_eq!((missing.status, missing.text()), (404, r#"{"status":404,"error":"Not Found"}"#));
    assert_eq!(server.get("/throw").status, 500);
}

#[test]
fn react_to_a_string() {
    let server = serve("react.tsx");
    let reply = server.get("/string?name=Ada");
    assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(reply.text(), "<main class=\"page\"><h1>Hello, Ada!</h1><ul><li>one</li><li>two</li></ul></main>");
    let escaped = server.get("/string?name=%3Cscript%3E");
    assert!(escaped.text().contains("Hello, &lt;script&gt;!"), "{}", escaped.text());
}

#[test]
fn react_as_a_stream() {
    let server = serve("react.tsx");
    let reply = server.get("/stream?name=Ada");
    assert_eq!(reply.header("transfer-encoding"), Some("chunked"));
    let text = reply.text();
    assert!(text.starts_with("<!DOCTYPE html><html") && text.contains("Hello, Ada!"), "{text}");
    // The fallback was sent first, and what it stood for when it was there.
    let (fallback, slow) = (text.find("still loading").unwrap(), text.find("slow part").unwrap());
    assert!(fallback < slow, "{text}");
}

#[test]
fn hono_on_node() {
    let server = serve("hono-node.js");
    server.expect("/", "Hello Hono on Node!");
    let reply = server.post("/echo", r#"{"a":1}"#);
    assert_eq!((reply.status, reply.text()), (201, r#"{"a":1}"#));
}
