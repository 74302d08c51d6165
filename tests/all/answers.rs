//! What comes back when something goes wrong: statuses, request ids, pages for browsers, and neighbours that notice nothing.

use crate::folder::{Folder, ask, eventually, until_status};

const OK: &str = "export default { fetch: () => new Response('in') };";

/// An app for each way to be answered.
fn statuses() -> Folder {
    let code = r#"
        export default {
          fetch(request) {
            switch (new URL(request.url).pathname) {
              case "/throw": throw new Error("the words of the app");
              case "/500": return new Response("own", { status: 500 });
              case "/loop": for (;;);
              case "/id": return new Response(request.headers.get("x-request-id"));
              default: return new Response("fine");
            }
          },
        };
    "#;
    let folder = Folder::new("statuses");
    folder.write("app/index.js", code);
    folder.write("app/manifest.yaml", "cpu: 200ms\nmaxBodySize: 4\n");
    folder.write("never/index.js", "export default { fetch: () => new Promise(() => {}) };");
    folder.write("never/manifest.yaml", "timeout: 200ms\n");
    folder.write("token/index.js", OK);
    folder.write("token/manifest.yaml", "auth: token\n");
    folder.write("rate/index.js", OK);
    folder.write("rate/manifest.yaml", "rateLimit: 1/1h\n");
    folder.write("bare/index.js", "export const x = 1;");
    folder.write("page/index.html", "<title>page</title>");
    folder
}

const STATUSES: [(&str, u16); 14] = [
    ("/app/", 200),
    ("/page/", 200),
    ("/app", 308),
    ("/app@one/", 400),
    ("/token/", 401),
    ("/missing/", 404),
    ("/app@9/", 404),
    ("/page/missing.js", 404),
    ("/rate/", 429),
    ("/app/500", 500),
    ("/bare/", 501),
    ("/app/throw", 502),
    ("/app/loop", 503),
    ("/never/", 504),
];

#[test]
fn every_answer_has_the_requests_id() {
    let folder = statuses();
    let server = folder.serve(&[]);
    until_status(&server, "/rate/", 429);
    for (path, status) in STATUSES {
        let reply = ask(&server, "GET", path, &[("x-request-id", "my.Own_id-7")]);
        assert_eq!((reply.status, reply.headers("x-request-id")), (status, vec!["my.Own_id-7"]), "GET {path}");
        if status >= 400 && path != "/app/500" {
            let body: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
            assert_eq!(body["error"]["request_id"], "my.Own_id-7", "GET {path}");
            assert!(body["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{body}");
            assert!(!reply.text().contains("the words of the app"), "{body}");
        }
    }
    let reply = ask(&server, "POST", "/app/", &[("x-request-id", "too-long"), ("content-length", "5")]);
    assert_eq!((reply.status, reply.header("x-request-id")), (413, Some("too-long")));
    assert_eq!(ask(&server, "GET", "/app/id", &[("x-request-id", "seen")]).text(), "seen");
    // What failed can be found in the log by it.
    ask(&server, "GET", "/app/throw", &[("x-request-id", "find-me")]);
    let line = server.wait_log("find-me");
    assert!(line.contains("the words of the app"), "{line}");

    let long = "x".repeat(65);
    let mut seen = std::collections::HashSet::new();
    for junk in ["", "two words", "a;b", "<script>", "é", "a\tb", "{\"a\":1}", &long] {
        let reply = ask(&server, "GET", "/app/id", &[("x-request-id", junk)]);
        let id = reply.header("x-request-id").unwrap().to_owned();
        assert_eq!((reply.status, reply.text()), (200, &*id), "{junk:?}");
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        assert!(id != junk && id.chars().all(fits), "{junk:?} became {id:?}");
        assert!(seen.insert(id), "an id came twice");
    }
}

#[test]
fn a_browser_gets_a_page_and_a_program_gets_json() {
    let folder = statuses();
    let server = folder.serve(&[]);
    until_status(&server, "/rate/", 429);
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for (path, status) in STATUSES.into_iter().filter(|(path, status)| *status >= 400 && *path != "/app/500") {
        let page = ask(&server, "GET", path, &[("accept", browser)]);
        assert_eq!((page.status, page.header("content-type")), (status, Some("text/html; charset=utf-8")), "{path}");
        assert!(page.text().starts_with("<!doctype html>"), "{}", page.text());
        assert!(!page.text().contains("the words of the app") && !page.text().contains(".js:"), "{}", page.text());
        for accept in ["*/*", "application/json", "application/json, text/html;q=0.5"] {
            let json = ask(&server, "GET", path, &[("accept", accept)]);
            assert_eq!(
                (json.status, json.header("content-type")),
                (status, Some("application/json")),
                "{path} {accept}"
            );
        }
    }
    // Nothing that a client writes is part of the page as it wrote it.
    let page = ask(&server, "GET", "/app@%3Cscript%3Ealert(1)%3C%2Fscript%3E/", &[("accept", browser)]);
    assert!(page.status >= 400 && !page.text().contains("<script>"), "{}", page.text());
}

#[test]
fn what_one_app_does_is_no_others_concern() {
    let folder = statuses();
    folder.write("good/index.js", "let count = 0;\nexport default { fetch: () => new Response(String(++count)) };");
    folder.write("good/manifest.yaml", "maxWorkers: 1\n");
    folder.write("late/index.js", "export default { fetch() { setTimeout(() => { throw new Error('too late'); }, 5); return new Response('sent'); } };");
    let mut server = folder.serve(&["--threads", "1"]);
    assert_eq!(server.get("/good/").text(), "1");
    let mut hogs: Vec<_> = ["/app/loop", "/never/", "/app/throw", "/late/", "/never/", "/app/loop"]
        .into_iter()
        .map(|path| {
            let mut client = server.connect();
            client.start("GET", path, &[]);
            client
        })
        .collect();
    for n in 2..30 {
        assert_eq!(server.get("/good/").text(), n.to_string());
    }
    for hog in &mut hogs {
        let status = hog.reply().status;
        assert!(matches!(status, 200 | 502 | 503 | 504), "{status}");
    }
    assert_eq!(server.get("/good/").text(), "30");
    assert_eq!(server.get("/app/").text(), "fine");
    eventually(&server, "all have their answer", || server.report()["running"] == 0);
    assert!(server.is_running());
}
