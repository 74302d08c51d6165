//! The examples, all of them, as `make run` serves them.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::folder::{Folder, until_status};
use crate::server::{PATIENCE, Server};

/// A copy of the examples: what is installed for them is not theirs.
fn examples() -> Folder {
    let folder = Folder::new("examples");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for example in std::fs::read_dir(from).unwrap() {
        let example = example.unwrap();
        if !example.file_type().unwrap().is_dir() {
            continue;
        }
        for file in std::fs::read_dir(example.path()).unwrap() {
            let file = file.unwrap();
            if file.file_type().unwrap().is_file() {
                let name = format!("{}/{}", example.file_name().to_str().unwrap(), file.file_name().to_str().unwrap());
                folder.write(&name, std::fs::read(file.path()).unwrap());
            }
        }
    }
    folder
}

fn shows(server: &Server, path: &str, part: &str) {
    let reply = until_status(server, path, 200);
    assert!(reply.text().contains(part), "no {part:?} in GET {path}: {}", reply.text());
}

/// Their packages are installed first, which takes as long as the registry wants.
fn wait_for(server: &Server, paths: &[&str]) {
    let deadline = Instant::now() + PATIENCE * 5;
    for path in paths {
        while server.get(path).status != 200 {
            assert!(Instant::now() < deadline, "there is no {path}; the log:\n{}", server.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn every_example_answers() {
    let folder = examples();
    let server = folder.serve(&["--cpu", "20s"]);
    shows(&server, "/hello/", "Hello from Hearth! You are visitor");
    shows(&server, "/routes/", "<h1>Routes</h1>");
    shows(&server, "/routes/hello/world", "Hello, world!");
    shows(&server, "/wasm/?a=1&b=2", "1 + 2 = 3");
    shows(&server, "/cron/", "runs");
    shows(&server, "/chat/", "new WebSocket(");
    assert_eq!(server.get("/chat/room").status, 426);
    shows(&server, "/spa/users/7", r#"window.__env__={"PUBLIC_GREETING":"Hello from the manifest"}"#);
    shows(&server, "/sse/", "new EventSource(");
    let mut client = server.connect();
    client.start("GET", "/sse/events", &[("last-event-id", "41")]);
    assert_eq!(client.head().header("content-type"), Some("text/event-stream"));
    assert!(client.text_chunk().starts_with("id: 42\ndata: "));
    wait_for(&server, &["/hono/", "/ssr/"]);
    shows(&server, "/hono/todos", r#"[{"id":1,"title":"Try Hearth","done":true}]"#);
    shows(&server, "/ssr/?name=Ada", "<h1>Hello, Ada!</h1>");
    shows(&server, "/ssr/?name=Ada", "<li>Margaret</li>");
}
