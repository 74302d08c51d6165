//! Access tokens, rate limits, and limits on response headers.

use crate::client::Reply;
use crate::folder::{Folder, ask, until_status};
use crate::server::Server;

const OK: &str =
    "export default { fetch: (request) => new Response('in ' + (request.headers.get('authorization') ?? '')) };";

fn new_token(server: &Server, app: &str) -> (String, String) {
    let made = server.ask_json("POST", &format!("/admin/apps/{app}/tokens?label=test"), "");
    (made["id"].as_str().unwrap().to_owned(), made["token"].as_str().unwrap().to_owned())
}

fn with_token(server: &Server, method: &str, path: &str, token: &str) -> Reply {
    ask(server, method, path, &[("authorization", &format!("Bearer {token}"))])
}

#[test]
fn an_app_admits_requests_with_one_of_its_tokens() {
    let folder = Folder::new("tokens");
    for app in ["mine", "other"] {
        folder.write(&format!("{app}/index.js"), OK);
        folder.write(&format!("{app}/manifest.yaml"), "auth: token\nstatic: public\n");
        folder.write(&format!("{app}/public/file.txt"), "a file");
    }
    folder.write("page/index.html", "<!doctype html><title>page</title>");
    folder.write("page/manifest.yaml", "auth: token\n");
    folder.write("open/index.js", OK);
    let server = folder.serve(&[]);
    let refused = |reply: &Reply| {
        reply.assert_error(401, "unauthorized", &["Bearer"]);
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
    };
    for path in ["/mine/", "/mine/file.txt", "/mine@latest/", "/page/", "/page/deep", "/mine/missing.txt"] {
        refused(&server.get(path));
    }
    let (id, mine) = new_token(&server, "mine");
    let (_, second) = new_token(&server, "mine");
    let (_, other) = new_token(&server, "other");
    assert_ne!(mine, other);
    for token in [&mine, &second] {
        assert_eq!(with_token(&server, "GET", "/mine/", token).status, 200);
    }
    let file = with_token(&server, "GET", "/mine/file.txt", &mine);
    assert_eq!(file.text(), "a file");
    assert!(file.header("cache-control").is_some_and(|value| value.contains("private")), "{file:?}");
    assert_eq!(ask(&server, "GET", "/mine/", &[("authorization", &format!("bEARER  {mine}"))]).status, 200);
    let wrong = [
        format!("Bearer {other}"),
        format!("Bearer {mine}x"),
        format!("Bearer {}", &mine[..mine.len() - 1]),
        format!("Basic {mine}"),
        mine.clone(),
        "Bearer ".to_owned(),
        "Bearer".to_owned(),
        format!("Bearer {}", crate::server::TOKEN),
    ];
    for value in &wrong {
        refused(&ask(&server, "GET", "/mine/", &[("authorization", value)]));
    }
    refused(&server.get(&format!("/mine/?token={mine}&access_token={mine}")));
    assert_eq!(with_token(&server, "GET", "/other/", &other).status, 200);
    // No token is asked for, and none is taken away.
    assert_eq!(with_token(&server, "GET", "/open/", &mine).text(), format!("in Bearer {mine}"));
    // It can be taken back; and is nowhere to be read.
    server.ask_json("DELETE", &format!("/admin/apps/mine/tokens/{id}"), "");
    refused(&with_token(&server, "GET", "/mine/", &mine));
    assert_eq!(with_token(&server, "GET", "/mine/", &second).status, 200);
    let listed = server.ask_json("GET", "/admin/apps/mine/tokens", "").to_string();
    assert!(!listed.contains(&second) && !server.log().contains(&second), "{listed}");
}

#[test]
fn public_routes_need_no_token_and_nothing_else_is_one() {
    let folder = Folder::new("public");
    let list = "auth: token\npublicRoutes: [/health, '/assets/**', '/users/:id/photo', '/*.txt']\n";
    let map = "auth: token\npublicRoutes:\n  get: [/items, '/items/*']\n  POST: [/login]\n  all: [/any]\n";
    for (app, manifest) in [("list", list), ("map", map)] {
        folder.write(&format!("{app}/index.js"), OK);
        folder.write(&format!("{app}/manifest.yaml"), manifest);
    }
    let server = folder.serve(&[]);
    for path in ["/list/health", "/list/health?x=1", "/list/assets/a/b.css", "/list/users/7/photo", "/list/robots.txt"]
    {
        for method in ["GET", "DELETE"] {
            assert_eq!(ask(&server, method, path, &[]).status, 200, "{method} {path}");
        }
    }
    for path in [
        "/list/",
        "/list/healthy",
        "/list/health/",
        "/list/HEALTH",
        "/list/assets",
        "/list/users/7/8/photo",
        "/list/a/b.txt",
        "/list/assets/../secret",
        "/list/assets/%2e%2e/secret",
        "/list/assets/%2e%2e%2fsecret",
        "/list/assets/..%5csecret",
        "/list//health",
        "/list/x?/health",
        "/list@latest/secret",
    ] {
        assert_eq!(server.get(path).status, 401, "GET {path}");
    }
    for (method, path, status) in [
        ("GET", "/map/items", 200),
        ("GET", "/map/items/7", 200),
        ("POST", "/map/items", 401),
        ("DELETE", "/map/items/7", 401),
        ("GET", "/map/items/7/8", 401),
        ("POST", "/map/login", 200),
        ("GET", "/map/login", 401),
        ("PUT", "/map/any", 200),
        ("GET", "/map/", 401),
    ] {
        assert_eq!(ask(&server, method, path, &[]).status, status, "{method} {path}");
    }
}

#[test]
fn a_client_has_so_many_requests_in_a_time() {
    let folder = Folder::new("rates");
    folder.write("few/index.js", OK);
    folder.write("few/manifest.yaml", "rateLimit: 3/1h\n");
    folder.write("soon/index.js", OK);
    folder.write("soon/manifest.yaml", "rateLimit: 1/2s\n");
    folder.write("page/index.html", "<title>page</title>");
    folder.write("page/manifest.yaml", "rateLimit: 1/1h\n");
    folder.write("free/index.js", OK);
    let server = folder.serve(&[]);
    for _ in 0..3 {
        assert_eq!(server.get("/few/").status, 200);
    }
    // Whatever the client says about where it comes from.
    for headers in [&[][..], &[("x-forwarded-for", "203.0.113.7")], &[("forwarded", "for=203.0.113.8")]] {
        let reply = ask(&server, "GET", "/few@latest/", headers);
        reply.assert_error(429, "rate_limited", &[]);
        let after: u64 = reply.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=3600).contains(&after), "{after}");
    }
    assert_eq!([server.get("/page/").status, server.get("/page/").status], [200, 429]);
    assert_eq!(server.get("/free/").status, 200);
    // After the time that was said, there is room again.
    until_status(&server, "/soon/", 429);
    until_status(&server, "/soon/", 200);
}

#[test]
fn too_many_and_too_long_headers_are_left_out() {
    let folder = Folder::new("headers");
    let code = r#"
        export default {
          fetch(request) {
            const headers = new Headers();
            const { pathname } = new URL(request.url);
            if (pathname === "/many") for (let n = 0; n < 150; n++) headers.append(`x-n-${n}`, String(n));
            if (pathname === "/long") { headers.set("x-long", "x".repeat(20 * 1024)); headers.set("x-short", "short"); }
            if (pathname === "/heavy") for (let n = 0; n < 20; n++) headers.append(`x-n-${n}`, "x".repeat(8000));
            if (pathname === "/ours") {
              for (const name of ["connection", "transfer-encoding", "content-length", "keep-alive", "upgrade", "x-request-id"]) {
                headers.set(name, "7");
              }
            }
            return new Response("body", { headers });
          },
        };
    "#;
    folder.write("app/index.js", code);
    let server = folder.serve(&[]);
    let mut client = server.connect();
    for _ in 0..3 {
        let many = client.get("/app/many");
        let own = many.headers.iter().filter(|(name, _)| name.starts_with("x-n-")).count();
        assert!((90..=100).contains(&own) && many.text() == "body", "{own} headers");
        let long = client.get("/app/long");
        assert_eq!((long.header("x-long"), long.header("x-short"), long.text()), (None, Some("short"), "body"));
        let heavy = client.get("/app/heavy");
        let bytes: usize = heavy.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        assert!(bytes <= 65 * 1024 && heavy.text() == "body", "{bytes} bytes of headers");
        let ours = client.get("/app/ours");
        assert_eq!((ours.status, ours.text(), ours.header("content-length")), (200, "body", Some("4")));
        assert!(ours.header("x-request-id").is_some_and(|id| id != "7"), "{ours:?}");
        assert_eq!(ours.headers("x-request-id").len(), 1);
    }
    server.wait_log("response headers dropped");
    assert_eq!(server.log().matches("response headers dropped").count(), 1);
}
