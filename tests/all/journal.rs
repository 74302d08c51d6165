//! Logs and events: lines of apps with their app, version and request, as they come; events; and no way for an app to
//! forge either.

use serde_json::{Value, json};

use crate::archive::tgz;
use crate::folder::{Folder, ask, eventually, says};
use crate::program::Program;
use crate::server::{Server, scratch};
use crate::stream::Events;

/// Logs what its query says.
const PRINTER: &str = r#"
    export default {
      fetch(request) {
        console.log(decodeURIComponent(new URL(request.url).search.slice(1)));
        return new Response("printed");
      },
    };
"#;

fn lines(server: &Server, query: &str) -> Vec<Value> {
    server.ask_json("GET", &format!("/admin/logs{query}"), "")["lines"].as_array().unwrap().clone()
}

#[test]
fn a_line_says_which_app_version_and_request_it_is_of() {
    let folder = Folder::with("journal-lines", &[("one@1.2.3/index.js", PRINTER), ("two/index.js", PRINTER)]);
    let server = folder.serve(&[]);
    for n in 0..3 {
        assert_eq!(
            ask(&server, "GET", &format!("/one/?first-{n}"), &[("x-request-id", &format!("request-{n}"))]).status,
            200
        );
    }
    assert_eq!(server.get("/two/?second").status, 200);
    eventually(&server, "all lines are there", || {
        lines(&server, "?app=one").len() == 3 && lines(&server, "?app=two").len() == 1
    });
    for (n, line) in lines(&server, "?app=one").iter().enumerate() {
        assert_eq!((&line["app"], &line["version"]), (&json!("one"), &json!("1.2.3")), "{line}");
        assert_eq!(line["request"], format!("request-{n}"));
        assert_eq!((&line["message"], &line["level"]), (&json!(format!("first-{n}")), &json!("info")));
        assert!(line["time"].is_u64());
    }
    let last: Vec<Value> = lines(&server, "?app=one&lines=1");
    assert_eq!((last.len(), &last[0]["message"]), (1, &json!("first-2")));
    let all = lines(&server, "?lines=10000");
    assert!(all.iter().any(|line| line["app"] == "two") && all.iter().any(|line| line["app"].is_null()));
    // A name that no app has, and that no line is about, is a slip.
    server.ask("GET", "/admin/logs?app=missing", "").assert_error(404, "no_app", &["there is no app missing"]);
}

#[test]
fn a_follower_gets_each_line_once() {
    let folder = Folder::with("journal-follow", &[("one/index.js", PRINTER), ("two/index.js", PRINTER)]);
    let mut server = folder.serve(&[]);
    let mut visitor = server.connect();
    visitor.get("/one/?0");
    eventually(&server, "the first line is there", || lines(&server, "?app=one").len() == 1);
    let mut following = Events::follow(&server, "/admin/logs?app=one&follow=true");
    for n in 1..200 {
        visitor.get(&format!("/two/?{n}"));
        visitor.get(&format!("/one/?{n}"));
    }
    for n in 0..200 {
        let (name, line) = following.next().unwrap();
        assert_eq!((name.as_str(), &line["message"], &line["app"]), ("line", &json!(n.to_string()), &json!("one")));
    }
    server.signal("-TERM");
    assert_eq!(following.next(), None, "the end of the server is the end of the stream");
    assert_eq!(server.wait().0.code(), Some(0));
}

const FORGED: &str =
    "a%0A2026-01-01T00%3A00%3A00.000Z%20ERROR%20hearth%3A%3Aserve%3A%20forged%0D%1B%5B2J%C2%9B%E2%80%AE%07end";

#[test]
fn an_app_cannot_forge_a_line_of_text() {
    let folder = Folder::with("journal-forge", &[("app/index.js", PRINTER)]);
    let server = folder.serve(&[]);
    server.expect(&format!("/app/?{FORGED}"), "printed");
    let line = server.wait_log("forged");
    assert!(line.contains("hearth::console: a\\n2026-") && line.contains("end app=app"), "{line:?}");
    let log = server.log();
    assert!(!log.lines().any(|line| line.starts_with("2026-01-01T00:00:00.000Z")), "{log}");
    assert!(!log.contains(['\u{1b}', '\r', '\u{7}', '\u{9b}', '\u{202e}']), "{log:?}");
    // In JSON it is what it was.
    let kept = lines(&server, "?app=app");
    assert!(kept[0]["message"].as_str().unwrap().starts_with("a\n2026-"), "{kept:?}");
}

#[test]
fn json_lines_are_an_object_each() {
    let folder = Folder::with("journal-json", &[("app/index.js", PRINTER)]);
    let data = scratch("journal-json-data");
    let mut program = Program::start(
        "journal-json",
        &[
            "serve",
            folder.path().to_str().unwrap(),
            "--listen",
            "127.0.0.1:0",
            "--admin",
            "off",
            "--log-format",
            "json",
            "--data",
            data.to_str().unwrap(),
        ],
    );
    let address = program.address("Listening on http://");
    let mut client = crate::client::Client::connect(&address);
    client.start("GET", &format!("/app/?{FORGED}"), &[("x-request-id", "the-one")]);
    assert_eq!(client.reply().text(), "printed");
    program.wait_log("forged");
    program.signal("-TERM");
    assert_eq!(program.wait().code(), Some(0));
    let log = program.log();
    let parsed: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect();
    assert!(
        parsed.iter().all(|line| line.is_object() && line["time"].is_string() && line["level"].is_string()),
        "{log}"
    );
    let printed: Vec<&Value> = parsed.iter().filter(|line| line["app"] == "app").collect();
    assert_eq!(printed.len(), 1, "{log}");
    assert_eq!((&printed[0]["request"], &printed[0]["version"]), (&json!("the-one"), &json!("latest")));
    assert!(!log.contains(['\u{1b}', '\r']), "{log:?}");
    std::fs::remove_dir_all(data).unwrap();
}

#[test]
fn events_tell_what_happened() {
    let folder = Folder::new("journal-events");
    let mut server = folder.serve(&[]);
    let mut events = Events::follow(&server, "/admin/events");
    let archive = |text: &str| tgz(&[("index.js", &says(text))]);
    for version in ["1.0.0", "2.0.0"] {
        assert_eq!(
            server.ask("POST", &format!("/admin/apps?name=app&version={version}"), archive(version)).status,
            201
        );
        let event = events.find(|event| event["event"] == "uploaded");
        assert_eq!((&event["app"], &event["version"], &event["revision"]), (&json!("app"), &json!(version), &json!(1)));
        assert!(event["time"].is_u64());
    }
    server.ask_json("POST", "/admin/apps/app/activate?version=1.0.0", "");
    assert_eq!(events.find(|event| event["event"] == "activated")["version"], "1.0.0");
    server.ask_json("POST", "/admin/apps/app/activate?version=2.0.0", "");
    server.ask_json("POST", "/admin/apps/app/rollback", "");
    assert_eq!(events.find(|event| event["event"] == "rolled_back")["version"], "1.0.0");
    server.ask_json("DELETE", "/admin/apps/app?version=2.0.0", "");
    assert_eq!(events.find(|event| event["event"] == "deleted")["version"], "2.0.0");
    let cell = server.cell();
    assert!(std::process::Command::new("kill").args(["-KILL", &cell.to_string()]).status().unwrap().success());
    let lost = events.find(|event| event["event"] == "cell_lost");
    assert_eq!(lost["cell"], cell);
    assert!(lost["status"].as_str().unwrap().contains('9'), "{lost}");
    // A later client sees the events so far.
    let mut late = Events::follow(&server, "/admin/events");
    let told: Vec<Value> = std::iter::from_fn(|| late.next())
        .map(|(_, event)| event["event"].clone())
        .take_while(|name| name != "cell_lost")
        .collect();
    for name in ["catalogue_changed", "uploaded", "activated", "rolled_back", "deleted"] {
        assert!(told.contains(&json!(name)), "{name}: {told:?}");
    }
    server.signal("-TERM");
    assert_eq!(server.wait().0.code(), Some(0));
}
